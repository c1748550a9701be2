/// Where a record begins.
struct RecordPlace: Sendable, Equatable {
    /// In the file; its gzip member does, where it has one.
    var offset: Int
    /// In the decoded member.
    var inner: Int

    static let none = RecordPlace(offset: -1, inner: 0)
}

/// Finds the request of each response: one of the two names the other in WARC-Concurrent-To, whichever comes first.
struct RecordPairs {
    /// What an index keeps of a request.
    struct Request {
        var place: RecordPlace
        var method: String
        var hasBody: Bool
    }

    /// Responses without a request so far, by their own identifiers and by those that they name.
    private var responses: [RecordKey: Int32] = [:]
    private var responsesByTarget: [RecordKey: Int32] = [:]
    /// Requests without a response so far, likewise.
    private var requests: [RecordKey: Request] = [:]
    private var requestsByTarget: [RecordKey: Request] = [:]

    /// How many records wait for another.
    var count: Int { responses.count + responsesByTarget.count + requests.count + requestsByTarget.count }

    /// - Returns: the request of a response, where it came before.
    mutating func add(response entry: Int, _ id: RecordKey?, concurrentTo targets: [RecordKey]) -> Request? {
        // Mostly nothing names another: what is empty takes no hashes.
        if let id, !requestsByTarget.isEmpty, let request = requestsByTarget.removeValue(forKey: id) { return request }
        for target in targets {
            if let request = requests.removeValue(forKey: target) { return request }
        }
        if let id { responses[id] = Int32(clamping: entry) }
        for target in targets { responsesByTarget[target] = Int32(clamping: entry) }
        return nil
    }

    /// - Returns: the entry whose request it is, where that came before.
    mutating func add(_ request: Request, _ id: RecordKey?, concurrentTo targets: [RecordKey]) -> Int? {
        for target in targets {
            if let entry = responses.removeValue(forKey: target) { return Int(entry) }
        }
        if let id, !responsesByTarget.isEmpty, let entry = responsesByTarget.removeValue(forKey: id) {
            return Int(entry)
        }
        if let id { requests[id] = request }
        for target in targets { requestsByTarget[target] = request }
        return nil
    }
}
