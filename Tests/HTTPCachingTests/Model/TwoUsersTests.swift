import HTTPCaching
import HTTPSemantics
import NIOCore
import Testing

/// Two users of one shared cache, and an origin that writes into each response who it is for.
///
/// Nothing here says how the rules work: it says what must never be seen. A user gets no field that was made for the
/// other one alone, gets the variant that the origin would have chosen by what was forwarded, and never one without its
/// Content-Type.
private struct TwoUsers {
    /// What the origin wrote: whose it is, and whether others may see it.
    struct Mark {
        var user: Int
        var isForOthers: Bool
    }

    private var random: ModelRandom
    private var entries: [(target: String, stored: StoredResponse)] = []
    private var marks: [String: Mark] = [:]
    private var now: Int64 = 0
    /// How often a user got something that another user's request had brought, by the way that it came.
    var seen: [String: Int] = [:]

    init(seed: UInt64) { random = ModelRandom(seed: seed) }

    mutating func step() throws {
        now += random.pick([0, 1, 20, 70])
        let user = random.below(2)
        let target = random.pick(["http://a.test/one", "http://a.test/two"])
        let model = request(of: user)
        let request = ModelBridge.request(model)
        guard model.method == "GET" else { return head(user, target, model, request) }
        let held = entries.indices.filter { entries[$0].target == target }
        guard let chosen = Selection.select(request, among: held.map { entries[$0].stored }) else {
            return try fetch(user, target, model, request)
        }
        let index = held[chosen]
        switch Reuse.verdict(request, entries[index].stored, at: at(now), policy: CachePolicy()) {
        case .fresh, .stale: try give(entries[index].stored, to: user, model, "store")
        case .validate: try validate(index, user, target, model, request)
        case .unusable: try fetch(user, target, model, request)
        }
    }

    private mutating func request(of user: Int) -> ModelRequest {
        var fields = [ModelField("Host", "a.test")]
        if random.chance(50) { fields.append(ModelField("Authorization", "Bearer \(user)")) }
        for _ in 0..<random.pick([0, 1, 1, 2]) {
            fields.append(ModelField("X-Tenant", random.pick(["a", "b", "a, b"])))
        }
        if random.chance(25) {
            fields.append(ModelField("Connection", random.pick(["close", "X-Tenant", "Authorization, x-tenant"])))
        }
        return ModelRequest(method: random.chance(25) ? "HEAD" : "GET", fields: fields)
    }

    /// A response with a mark of the user in two fields.
    private mutating func response(
        _ status: Int, to user: Int, _ model: ModelRequest, etag: String = "\"a\""
    ) -> OriginResponse {
        let control = random.pick([
            "max-age=60", "public, max-age=60", "s-maxage=60", "max-age=60, private=\"x-user\"",
            "max-age=60, no-cache=\"set-cookie, X-User\"", "public, max-age=60, private=\"set-cookie\"", "private",
            "max-age=60, must-revalidate", "",
        ])
        let connection = random.pick(["", "", "close", "X-User", "Content-Type", "Set-Cookie"])
        var fields = [
            ModelField("Date", date(now)), ModelField("ETag", etag), ModelField("Content-Type", "text/plain"),
            ModelField("Vary", "X-Tenant"), ModelField("X-Chosen-By", tenant(model)),
        ]
        if !control.isEmpty { fields.append(ModelField("Cache-Control", control)) }
        if !connection.isEmpty { fields.append(ModelField("Connection", connection)) }
        let isAuthorized = model.fields.has("authorization")
        let mayBeShared = ["public", "s-maxage", "must-revalidate"].contains { control.contains($0) }
        for name in ["X-User", "Set-Cookie"] {
            let isNamed = control.lowercased().contains("\"") && control.lowercased().contains(name.lowercased())
            let isOfConnection = name == "X-User" && connection == "X-User"
            let isForOthers = control != "private" && !isNamed && !isOfConnection && (!isAuthorized || mayBeShared)
            let value = "mark-\(marks.count)"
            marks[value] = Mark(user: user, isForOthers: isForOthers)
            fields.append(ModelField(name, value))
        }
        return OriginResponse(
            status: status, reason: .init(), fields: fields.section, requestedAt: at(now), receivedAt: at(now))
    }

    /// What the origin got of the field that it chooses by.
    private func tenant(_ model: ModelRequest) -> String {
        let isHidden = model.fields.members("connection").contains { $0.lowercased() == "x-tenant" }
        return isHidden ? "" : model.fields.values("x-tenant").joined(separator: "|")
    }

    private mutating func fetch(_ user: Int, _ target: String, _ model: ModelRequest, _ request: CacheRequest) throws {
        let verdict = Storing.verdict(
            request, target: try TargetURI(target), response(200, to: user, model), policy: CachePolicy())
        guard case .store(let stored) = verdict else { return }
        entries.removeAll { $0.target == target && $0.stored.selection.matches(request) }
        entries.append((target, stored))
        // Another request waits for this one's response.
        let follower = self.request(of: 1 - user)
        let followerRequest = ModelBridge.request(follower)
        guard follower.method == "GET",
            Reuse.isShareable(stored, with: followerRequest, at: at(now), policy: CachePolicy())
        else { return }
        try give(stored, to: 1 - user, follower, "collapsed")
    }

    private mutating func validate(
        _ index: Int, _ user: Int, _ target: String, _ model: ModelRequest, _ request: CacheRequest
    ) throws {
        guard random.chance(70) else { return try fetch(user, target, model, request) }
        let notModified = response(304, to: user, model)
        let outcome = Validation.outcome(
            entries[index].stored, notModified: notModified, request: request, policy: CachePolicy())
        guard case .freshened(let freshened) = outcome else { return }
        try give(freshened, to: user, model, "freshened")
        guard Validation.mayBeShared(notModified, for: request, policy: CachePolicy()) else { return }
        if freshened.mayBeKept(by: CachePolicy()) {
            entries[index].stored = freshened
        } else {
            entries.remove(at: index)
        }
    }

    private mutating func head(_ user: Int, _ target: String, _ model: ModelRequest, _ request: CacheRequest) {
        let response = response(200, to: user, model)
        for index in entries.indices.reversed()
        where entries[index].target == target && entries[index].stored.selection.matches(request) {
            switch Validation.outcome(
                entries[index].stored, size: 7, byHead: response, request: request, policy: CachePolicy())
            {
            case .unchanged: break
            case .freshened(let freshened): entries[index].stored = freshened
            case .invalidated: entries.remove(at: index)
            }
        }
    }

    /// A user gets what is stored.
    private mutating func give(_ stored: StoredResponse, to user: Int, _ model: ModelRequest, _ way: String) throws {
        let fields = ModelBridge.fields(stored.fields)
        var isOthers = false
        for field in fields {
            guard let mark = marks[field.value], mark.user != user else { continue }
            isOthers = true
            if !mark.isForOthers { throw Disagreement(description: "\(way): user \(user) gets \(field) in \(fields)") }
        }
        if isOthers { seen[way, default: 0] += 1 }
        guard fields.has("content-type") else { throw Disagreement(description: "\(way): no Content-Type: \(fields)") }
        let chosen = fields.first("x-chosen-by") ?? ""
        guard chosen == tenant(model) else {
            throw Disagreement(description: "\(way): chosen by '\(chosen)' for \(model)")
        }
    }
}

@Suite("Two users of one cache")
struct TwoUsersTests {
    @Test(
        "get nothing that is the other's alone, and no variant that the origin would not have chosen",
        arguments: 1...8 as ClosedRange<UInt64>)
    func secrets(_ seed: UInt64) throws {
        var users = TwoUsers(seed: seed)
        for _ in 0..<400 { try users.step() }
        // That nothing is shared at all would be no success.
        for way in ["store", "collapsed", "freshened"] { #expect(users.seen[way, default: 0] > 0, "\(way)") }
    }
}
