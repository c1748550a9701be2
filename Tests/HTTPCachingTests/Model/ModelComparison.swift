import HTTPCaching
import HTTPSemantics

/// Where the rules and the model disagree, with all that is needed to see it again.
struct Disagreement: Error, CustomStringConvertible {
    var description: String
}

/// One sequence of requests, responses and clock steps, decided by the rules and by the model side by side.
struct ModelComparison {
    struct Entry {
        var target: String
        var rules: StoredResponse
        var model: ModelStored
    }

    /// A request as the model and as the rules take it.
    struct Asked {
        let target: String
        let uri: TargetURI
        let model: ModelRequest
        let rules: CacheRequest

        init(_ request: ModelRequest, target: String, uri: TargetURI) {
            self.target = target
            self.uri = uri
            model = request
            rules = ModelBridge.request(request)
        }
    }

    /// An event of the history, described only where there is a failure.
    private struct Event {
        var what: String
        var value: any CustomStringConvertible
    }

    static let targets = ["http://a.example/dir/one", "http://a.example/dir/two", "http://a.example/one"]
    static let uris = targets.compactMap { try? TargetURI($0) }

    let label: String
    let policy: ModelPolicy
    let rulesPolicy: CachePolicy
    var random: ModelRandom
    var requests: RequestGenerator
    var responses: ResponseGenerator
    var now: ModelInstant
    var entries: [Entry] = []
    /// How often each verdict and reason was given.
    var coverage: [String: Int] = [:]
    /// What happened last, for a failure's message.
    private var events: [Event] = []
    private var stepNumber = 0

    init(seed: UInt64) {
        label = "seed \(seed)"
        random = ModelRandom(seed: seed)
        requests = RequestGenerator(spelling: FieldSpelling(random: ModelRandom(seed: random.next())))
        responses = ResponseGenerator(spelling: FieldSpelling(random: ModelRandom(seed: random.next())))
        if random.chance(20) { requests.rangePercent = 80 }
        var policy = ModelPolicy()
        policy.isShared = random.chance(75)
        if random.chance(30) { policy.targetedFields = ["example-cache-control", "cdn-cache-control"] }
        if random.chance(10) { policy.heuristicPercent = 50 }
        self.policy = policy
        rulesPolicy = ModelBridge.policy(policy)
        now = ModelInstant(
            wall: 1_700_000_000 + Int64(random.below(100_000_000)), steady: UInt64(random.below(1 << 30)) << 20)
    }

    mutating func note(_ what: String, _ value: any CustomStringConvertible) {
        events.append(Event(what: what, value: value))
        if events.count > 60 { events.removeFirst(20) }
    }

    mutating func count(_ name: String) { coverage[name, default: 0] += 1 }

    func fail(_ what: String) throws -> Never {
        let history = events.suffix(7).map { "\($0.what) \($0.value)" }.joined(separator: "\n  ")
        throw Disagreement(
            description: "\(what)\n\(label), step \(stepNumber), \(policy), now \(now), after:\n  \(history)")
    }

    func check(_ what: String, _ rules: String, isAmong model: Set<String>) throws {
        if !model.contains(rules) { try fail("\(what): rules \(rules), model \(model.sorted())") }
    }

    func check<Value: Equatable>(_ what: String, _ rules: Value, _ model: Value?) throws {
        if let model, rules != model { try fail("\(what): rules \(rules), model \(model)") }
    }

    /// A request comes in.
    mutating func step() throws {
        stepNumber += 1
        moveClocks()
        let target = random.pick(weighted: [(5, 0), (2, 1), (1, 2)])
        let request = Asked(
            requests.request(now: now), target: ModelComparison.targets[target], uri: ModelComparison.uris[target])
        note("at", now)
        note(request.target, request.model)
        guard let selected = try select(request) else {
            try forward(request)
            return
        }
        let entry = entries[selected]
        let isOffline = random.chance(6)
        let verdict = try reuse(request, entry, isOffline: isOffline)
        if random.chance(30) { try checkSharing(entry) }
        guard !isOffline else { return }
        switch verdict {
        case .fresh, .stale: break
        case .validate: try validate(request, selected)
        case .unusable: try forward(request)
        }
    }

    /// Time passes: a little, to the edges of what is stored, a long while, or the wall clock is set.
    private mutating func moveClocks() {
        pass(seconds: 0, nanoseconds: 1)
        switch random.below(20) {
        case 0...3: break
        case 4: pass(seconds: 0, nanoseconds: UInt64(random.below(1_500_000_000)))
        case 5...9: pass(seconds: random.below(6))
        case 10...12: pass(seconds: random.below(120))
        case 13...16: passToEdge()
        case 17: pass(seconds: random.pick([3600, 86_400, 100_000, 40_000_000]))
        case 18: now.wall += Int64(random.below(200_000)) - 100_000
        default: now.wall += Int64(random.below(3)) - 1
        }
    }

    private mutating func passToEdge() {
        guard !entries.isEmpty else { return }
        let model = random.pick(entries).model
        let behind = random.pick([
            0, model.directives.seconds("stale-while-revalidate") ?? 0, model.directives.seconds("stale-if-error") ?? 0,
        ])
        let rest = model.lifetime + behind - model.age(now)
        guard (1...100_000_000).contains(rest) else { return }
        pass(seconds: Int(rest) + random.below(3) - 1)
    }

    mutating func pass(seconds: Int, nanoseconds: UInt64 = 0) {
        now.wall += Int64(seconds)
        now.steady += UInt64(seconds) * 1_000_000_000 + nanoseconds
    }

    private mutating func select(_ request: Asked) throws -> Int? {
        let candidates = entries.indices.filter { entries[$0].target == request.target }
        let chosen = Selection.select(request.rules, among: candidates.map { entries[$0].rules })
        let choices = ModelReuse.select(request.model, among: candidates.map { entries[$0].model })
        for index in candidates {
            note("held", entries[index].model)
            let matches = entries[index].rules.selection.matches(request.rules)
            if !entries[index].model.selectsNothing {
                try check("match of \(index)", matches, entries[index].model.matches(request.model))
            }
        }
        guard let chosen else {
            if !choices.isEmpty { try fail("selection: rules none, model \(choices)") }
            count(candidates.isEmpty ? "select.uri-miss" : "select.vary-miss")
            return nil
        }
        if !choices.contains(chosen) { try fail("selection: rules \(chosen), model \(choices)") }
        count("select.one")
        return candidates[chosen]
    }

    private mutating func reuse(_ request: Asked, _ entry: Entry, isOffline: Bool) throws -> ReuseVerdict {
        let instant = ModelBridge.instant(now)
        note(isOffline ? "selected offline" : "selected", entry.model)
        try check("age", entry.rules.currentAge(at: instant), entry.model.age(now))
        try check("time to live", entry.rules.timeToLive(at: instant), entry.model.lifetime - entry.model.age(now))
        let verdict = Reuse.verdict(
            request.rules, entry.rules, at: instant, policy: rulesPolicy, isOffline: isOffline)
        let name = ModelBridge.name(verdict)
        try check(
            "reuse", name,
            isAmong: ModelReuse.verdicts(request.model, entry.model, at: now, policy: policy, isOffline: isOffline))
        count(name)
        try check(
            "forbids stale", Reuse.forbidsStale(entry.rules, policy: rulesPolicy),
            entry.model.directives.forbidStale(policy))
        let status = random.pick([nil, 500, 502, 503, 504, 501, 404, 200])
        let standsIn =
            Reuse.standIn(
                entry.rules, for: request.rules, after: status.map { .status($0) } ?? .noResponse, at: instant,
                policy: rulesPolicy) != nil
        try check(
            "standing in for \(status ?? 0)", standsIn,
            ModelReuse.mayStandIn(entry.model, for: request.model, status: status, at: now, policy: policy))
        count("mayStandIn.\(standsIn)")
        let isDisconnected =
            Reuse.standIn(entry.rules, for: request.rules, after: .unreachable, at: instant, policy: rulesPolicy) != nil
        try check(
            "standing in for an origin that can't be reached", isDisconnected,
            ModelReuse.mayStandInDisconnected(entry.model, for: request.model, at: now, policy: policy))
        count("disconnected.\(isDisconnected)")
        return verdict
    }

    /// Whether another request may share a response.
    private mutating func checkSharing(_ entry: Entry) throws {
        let follower = requests.request(now: now)
        let isShareable = Reuse.isShareable(
            entry.rules, with: ModelBridge.request(follower), at: ModelBridge.instant(now), policy: rulesPolicy)
        let expected = ModelReuse.isShareable(entry.model, with: follower, at: now, policy: policy)
        if let expected, expected != isShareable {
            try fail("sharing with \(follower): rules \(isShareable), model \(expected)")
        }
        count("isShareable.\(isShareable)")
    }
}
