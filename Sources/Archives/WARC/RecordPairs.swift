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

    /// Records that wait for another, the last one of a key first. Mostly it is the next one that names a record, or
    /// none does: what is named from further on takes hashes.
    private struct Waiting<Value> {
        private var recent: ContiguousArray<(key: RecordKey, value: Value)> = []
        private var others: [RecordKey: Value] = [:]
        private static var near: Int { 4 }

        var count: Int { recent.count + others.count }
        var isEmpty: Bool { recent.isEmpty && others.isEmpty }

        mutating func add(_ value: Value, _ key: RecordKey) { recent.append((key, value)) }

        mutating func take(_ key: RecordKey) -> Value? {
            for index in recent.indices.suffix(Waiting.near).reversed() where recent[index].key == key {
                return recent.remove(at: index).value
            }
            for record in recent { others[record.key] = record.value }
            recent.removeAll(keepingCapacity: true)
            return others.removeValue(forKey: key)
        }
    }

    /// Responses without a request so far, by their own identifiers and by those that they name.
    private var responses = Waiting<Int32>()
    private var responsesByTarget = Waiting<Int32>()
    /// Requests without a response so far, likewise.
    private var requests = Waiting<Request>()
    private var requestsByTarget = Waiting<Request>()

    /// How many records wait for another.
    var count: Int { responses.count + responsesByTarget.count + requests.count + requestsByTarget.count }

    /// - Returns: the request of a response, where it came before.
    mutating func add(response entry: Int, _ id: RecordKey?, concurrentTo targets: [RecordKey]) -> Request? {
        if let id, !requestsByTarget.isEmpty, let request = requestsByTarget.take(id) { return request }
        for target in targets {
            if let request = requests.take(target) { return request }
        }
        if let id { responses.add(Int32(clamping: entry), id) }
        for target in targets { responsesByTarget.add(Int32(clamping: entry), target) }
        return nil
    }

    /// - Returns: the entry whose request it is, where that came before.
    mutating func add(_ request: Request, _ id: RecordKey?, concurrentTo targets: [RecordKey]) -> Int? {
        for target in targets {
            if let entry = responses.take(target) { return Int(entry) }
        }
        if let id, !responsesByTarget.isEmpty, let entry = responsesByTarget.take(id) { return Int(entry) }
        if let id { requests.add(request, id) }
        for target in targets { requestsByTarget.add(request, target) }
        return nil
    }
}
