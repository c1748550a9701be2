import HTTPSemantics

/// A stored response of the model: what is kept of it and what follows from that.
struct ModelStored: CustomStringConvertible {
    var status: Int
    var fields: [ModelField]
    var directives: ModelDirectives
    var lifetime: Int64
    /// How the lifetime was found: `sMaxAge`, `maxAge`, `expires`, `heuristic` or `none`.
    var lifetimeSource: String
    var initialAge: Int64
    var receivedAt: ModelInstant
    var date: Int64
    var hasBadDate: Bool
    var etag: String?
    var lastModified: Int64?
    /// The fields that Vary names, with the values of the request; nil where the request had none.
    var selecting: [String: String?]
    /// Whether Vary has `*`, which no request matches, or so many names that the cache gives up.
    var selectsNothing: Bool
    var isAuthorized: Bool
    var part: ModelPart?

    /// What counts as too large to be told from larger values (RFC 9111 §1.2.2).
    static let largest: Int64 = 1 << 31
    /// The cache's own limit.
    static let maximumVary = 16
    static let hopByHop: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    ]
    static let heuristicallyCacheable: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]
    /// Fields that are lists, so that spaces beside their commas mean nothing; of those that the generator writes.
    static let lists: Set<String> = ["accept-encoding", "accept-language"]

    /// Keeps what may be kept of `response`, whose fields may have been merged before (RFC 9111 §3.1, §4.2).
    ///
    /// - Parameters:
    ///   - ages: The members of the Age field of the message that was received.
    ///   - known: The directives, where they are not those of the fields.
    init(
        response: ModelResponse, ages: [String], request: ModelRequest, isAuthorized: Bool, part: ModelPart?,
        directives known: ModelDirectives? = nil, policy: ModelPolicy
    ) {
        directives = known ?? ModelDirectives(response: response.fields, policy: policy)
        fields = ModelStored.kept(response.fields, directives.unstoredFields(policy), receivedAt: response.receivedAt)
        status = part?.isComplete == true ? 200 : response.status
        self.part = part?.isComplete == true ? nil : part
        receivedAt = response.receivedAt
        self.isAuthorized = isAuthorized
        etag = response.fields.first("etag")
        lastModified = ModelText.date(response.fields.first("last-modified"), now: receivedAt.wall)

        let dateText = response.fields.first("date")
        let parsedDate = ModelText.date(dateText, now: receivedAt.wall)
        hasBadDate = dateText != nil && parsedDate == nil
        date = parsedDate ?? receivedAt.wall

        let apparentAge = max(0, receivedAt.wall - date)
        let ageValue = ages.first.flatMap(ModelText.seconds) ?? 0
        let responseDelay = receivedAt.seconds(since: response.requestedAt)
        initialAge = min(max(apparentAge, ageValue + responseDelay), ModelStored.largest)

        (lifetime, lifetimeSource) = ModelStored.lifetime(
            response.status, response.fields, directives, date: date, lastModified: lastModified, receivedAt, policy)

        let vary = response.fields.members("vary").map { $0.lowercased() }
        selectsNothing = vary.contains("*") || Set(vary).count > ModelStored.maximumVary
        selecting = [:]
        for name in vary { selecting.updateValue(ModelStored.selectingValue(name, request.forwarded), forKey: name) }
    }

    /// The fields without those that are not stored, with a Date (RFC 9111 §3.1, RFC 9110 §6.6.1).
    static func kept(_ fields: [ModelField], _ unstored: Set<String>, receivedAt: ModelInstant) -> [ModelField] {
        var kept = fields.withoutNominated.filter { field in
            let name = field.name.lowercased()
            return !hopByHop.contains(name) && !unstored.contains(name)
                && !["content-length", "content-range", "age"].contains(name)
        }
        if !kept.has("date") {
            kept.append(ModelField("Date", String(decoding: HTTPDate.bytes(receivedAt.wall), as: UTF8.self)))
        }
        return kept
    }

    /// The freshness lifetime, by the first rule that applies (RFC 9111 §4.2.1, §4.2.2).
    private static func lifetime(
        _ status: Int, _ fields: [ModelField], _ directives: ModelDirectives, date: Int64, lastModified: Int64?,
        _ receivedAt: ModelInstant, _ policy: ModelPolicy
    ) -> (Int64, String) {
        if policy.isShared && directives.has("s-maxage") { return (directives.seconds("s-maxage") ?? 0, "sMaxAge") }
        if directives.has("max-age") { return (directives.seconds("max-age") ?? 0, "maxAge") }
        if !directives.isTargeted, let text = fields.first("expires") {
            guard let expires = ModelText.date(text, now: receivedAt.wall) else { return (0, "expires") }
            return (min(max(0, expires - date), largest), "expires")
        }
        guard directives.has("public") || heuristicallyCacheable.contains(status), let lastModified, lastModified < date
        else {
            return (0, "none")
        }
        return (min((date - lastModified) * policy.heuristicPercent / 100, policy.heuristicLimit), "heuristic")
    }

    /// The value that a selecting field has in a request, so written that two match where they are the same
    /// (RFC 9111 §4.1); nil where the request has none.
    static func selectingValue(_ name: String, _ fields: [ModelField]) -> String? {
        let values = fields.values(name)
        guard !values.isEmpty else { return nil }
        guard lists.contains(name) else { return values.map(ModelText.trimmed).joined(separator: "\n") }
        // Content codings and language ranges have no case (RFC 9110 §8.4.1, §12.5.4).
        return values.map { ModelText.members($0).joined(separator: ", ") }.joined(separator: "\n").lowercased()
    }

    func matches(_ request: ModelRequest) -> Bool {
        guard !selectsNothing else { return false }
        for (name, value) in selecting where ModelStored.selectingValue(name, request.forwarded) != value {
            return false
        }
        return true
    }

    func age(_ now: ModelInstant) -> Int64 {
        min(initialAge + now.seconds(since: receivedAt), ModelStored.largest)
    }

    var description: String {
        "\(status) \(fields) lifetime \(lifetime) (\(lifetimeSource)) initial age \(initialAge) at \(receivedAt)"
            + " selecting \(selecting)\(isAuthorized ? " authorized" : "") \(part.map { "part \($0)" } ?? "")"
    }
}
