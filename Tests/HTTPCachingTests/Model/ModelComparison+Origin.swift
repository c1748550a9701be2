import HTTPCaching
import HTTPSemantics

/// What happens when the origin is asked.
extension ModelComparison {
    /// The time that the origin takes.
    private mutating func answerDelay() -> (ModelInstant, ModelInstant) {
        let sent = now
        pass(seconds: random.pick(weighted: [(10, 0), (3, 1), (1, 3), (1, 40)]), nanoseconds: 5)
        return (sent, now)
    }

    /// A request goes to the origin as it is.
    mutating func forward(_ request: Asked) throws {
        let (sent, received) = answerDelay()
        let response = responses.response(
            to: request.model, target: request.target, requestedAt: sent, receivedAt: received)
        note("answer", response)
        let rulesResponse = ModelBridge.response(response)
        try invalidate(request, response, rulesResponse)
        if request.model.method == "HEAD" { try freshenByHead(request) }
        let verdict = Storing.verdict(request.rules, target: request.uri, rulesResponse, policy: rulesPolicy)
        let model = ModelStoring(request.model, target: request.target, response, policy: policy)
        try store(request, verdict, model)
    }

    private mutating func store(_ request: Asked, _ verdict: StoreVerdict, _ model: ModelStoring) throws {
        switch verdict {
        case .refuse(let refusal):
            let name = "\(refusal)"
            if !model.refusals.contains(name) && !model.choices.contains(name) {
                try fail("storing: rules refuse \(name), model \(model.refusals) or \(model.choices)")
            }
            count("refuse.\(name)")
        case .store(let stored):
            if !model.refusals.isEmpty { try fail("storing: rules store, model refuses \(model.refusals)") }
            if let difference = ModelBridge.difference(stored, model.stored) { try fail("stored: \(difference)") }
            count("store.\(stored.lifetime.source)")
            if stored.part != nil { count("store.part") }
            if stored.directives.isTargeted { count("store.targeted") }
            try keep(Entry(target: request.target, rules: stored, model: model.stored), request.model)
        }
    }

    /// Puts a response into the store: beside a part that it completes, or in the place of those it was selected with.
    private mutating func keep(_ new: Entry, _ request: ModelRequest) throws {
        var new = new
        for held in entries where held.target == new.target && held.model.matches(request) {
            guard held.model.part != nil, new.model.part != nil else { continue }
            let combined = Combination.combine(held.rules, with: new.rules, policy: rulesPolicy)
            let expected = ModelCombination.combined(held.model, new.model, request: request, policy: policy)
            note("combining", held.model)
            note("with", new.model)
            guard let combined, let expected else {
                try check("combination", combined != nil, expected != nil)
                count("combine.no")
                continue
            }
            if let difference = ModelBridge.difference(combined, expected) { try fail("combined: \(difference)") }
            count(expected.part == nil ? "combine.whole" : "combine.part")
            // Whose directives count is then another question after the next 304.
            guard held.model.directives.isTargeted == new.model.directives.isTargeted else { continue }
            new = Entry(target: new.target, rules: combined, model: expected)
        }
        entries.removeAll { held in
            held.target == new.target && held.model.matches(request)
                && (new.model.part == nil || held.model.part != nil)
        }
        entries.append(new)
        if entries.count > 8 { entries.removeFirst() }
    }

    private mutating func invalidate(
        _ request: Asked, _ response: ModelResponse, _ rulesResponse: OriginResponse
    ) throws {
        let targets = Invalidation.targets(
            method: request.rules.method, status: response.status, target: request.uri, fields: rulesResponse.fields)
        let expected = ModelInvalidation.targets(
            method: request.model.method, status: response.status, target: request.target, fields: response.fields)
        try check("invalidation", Set(targets.map(\.description)), expected)
        count("invalidate.\(min(expected.count, 2))")
        entries.removeAll { expected.contains($0.target) }
    }

    /// A 200 to HEAD updates or invalidates what the request could have selected (RFC 9111 §4.3.5).
    private mutating func freshenByHead(_ request: Asked) throws {
        var outdated: [Int] = []
        let selectable = entries.indices.filter {
            entries[$0].target == request.target && entries[$0].model.matches(request.model)
        }
        for index in selectable {
            let entry = entries[index]
            let response = responses.headResponse(entry.model, requestedAt: now, receivedAt: now)
            note("held", entry.model)
            note("HEAD's", response)
            let outcome = Validation.outcome(
                entry.rules, size: ResponseGenerator.size, byHead: ModelBridge.response(response),
                request: request.rules, policy: rulesPolicy)
            let isForOthers = ModelValidation.isForOthers(response, request.model, policy)
            let fits = ModelValidation.headFits(entry.model, size: ResponseGenerator.size, response, policy)
            switch outcome {
            case .unchanged:
                try check("HEAD is for others", false, isForOthers)
                count("head.unchanged")
            case .invalidated:
                try check("HEAD is for others", true, isForOthers)
                try check("HEAD fits", false, fits)
                count("head.invalidated")
                outdated.append(index)
            case .freshened(let freshened):
                try check("HEAD is for others", true, isForOthers)
                try check("HEAD fits", true, fits)
                let model = ModelValidation.updated(entry.model, by: response, request: request.model, policy: policy)
                if let difference = ModelBridge.difference(freshened, model) { try fail("HEAD: \(difference)") }
                count("head.freshened")
                entries[index] = Entry(target: request.target, rules: freshened, model: model)
            }
        }
        for index in outdated.reversed() { entries.remove(at: index) }
    }

    /// The selected response is validated with the origin.
    mutating func validate(_ request: Asked, _ selected: Int) throws {
        let entry = entries[selected]
        try checkPreconditions(request, entry)
        guard random.chance(65) else {
            try forward(request)
            return
        }
        let (sent, received) = answerDelay()
        let response = responses.notModified(entry.model, request.model, requestedAt: sent, receivedAt: received)
        note("not modified", response)
        let outcome = Validation.outcome(
            entry.rules, notModified: ModelBridge.response(response), request: request.rules,
            policy: rulesPolicy)
        var expected = ModelValidation.outcomes(entry.model, response, request.model)
        if ModelValidation.endsSharing(entry.model, response, policy), expected.remove("freshened") != nil {
            expected.insert("withdrawn")
        }
        switch outcome {
        case .freshened(let freshened):
            try check("validation", "freshened", isAmong: expected)
            let model = ModelValidation.updated(entry.model, by: response, request: request.model, policy: policy)
            if let difference = ModelBridge.difference(freshened, model) { try fail("freshened: \(difference)") }
            count("outcome.freshened")
            let isForOthers = ModelValidation.isForOthers(response, request.model, policy)
            try check(
                "304 is for others",
                Validation.mayBeShared(ModelBridge.response(response), for: request.rules, policy: rulesPolicy),
                isForOthers)
            guard isForOthers else { return }
            entries[selected] = Entry(target: entry.target, rules: freshened, model: model)
        case .forClient:
            try check("validation", "forClient", isAmong: expected)
            count("outcome.forClient")
        case .mismatch:
            try check("validation", "mismatch", isAmong: expected)
            count("outcome.mismatch")
        case .withdrawn:
            try check("validation", "withdrawn", isAmong: expected)
            count("outcome.withdrawn")
        }
    }

    private mutating func checkPreconditions(_ request: Asked, _ entry: Entry) throws {
        let (tags, date) = Validation.preconditions(entry.rules, request: request.rules.fields)
        let sent = ModelText.entityTags([ModelBridge.text(tags) ?? ""])
        var expected = ModelValidation.clientTags(request.model)
        if let etag = entry.model.etag { expected.append(etag) }
        // Where the stored response has a date alone, the client's tags can't be combined with anything.
        if entry.model.etag == nil && entry.model.lastModified != nil && sent.isEmpty { expected = [] }
        // Of tags that are the same by weak comparison one is enough.
        if Set(sent.compactMap(ModelText.opaque)) != Set(expected.compactMap(ModelText.opaque))
            || !Set(sent).isSubset(of: expected)
        {
            try fail("If-None-Match: rules \(sent), model \(expected)")
        }
        count(tags == nil ? "preconditions.noTag" : "preconditions.tag")
        let modified = ModelText.date(ModelBridge.text(date), now: now.wall)
        if let lastModified = entry.model.lastModified {
            try check("If-Modified-Since", modified, .some(lastModified))
            count("preconditions.date")
        }
    }
}

/// What the model says of combining parts (RFC 9111 §3.4).
enum ModelCombination {
    static func combined(
        _ held: ModelStored, _ newer: ModelStored, request: ModelRequest, policy: ModelPolicy
    ) -> ModelStored? {
        guard let first = held.part, let second = newer.part, let etag = held.etag, etag == newer.etag,
            ModelText.isStrong(etag), first.range.lowerBound <= second.range.upperBound,
            second.range.lowerBound <= first.range.upperBound
        else { return nil }
        if let one = first.completeLength, let other = second.completeLength, one != other { return nil }
        let range =
            min(first.range.lowerBound, second.range.lowerBound)..<max(first.range.upperBound, second.range.upperBound)
        // What describes the content stays as it is held; with the same strong tag it can't differ.
        let news = newer.fields.filter {
            let name = $0.name.lowercased()
            return !ModelValidation.unchanging.contains(name) && name != "content-encoding"
        }
        let replaced = Set(news.map { $0.name.lowercased() })
        let fields = held.fields.filter { !replaced.contains($0.name.lowercased()) } + news
        var combined = ModelStored(
            response: ModelResponse(
                status: 206, fields: fields, requestedAt: newer.receivedAt, receivedAt: newer.receivedAt),
            ages: [], request: request, isAuthorized: held.isAuthorized || newer.isAuthorized,
            part: ModelPart(range, of: first.completeLength ?? second.completeLength), policy: policy)
        combined.initialAge = newer.initialAge
        // The rules go by the newer one's directives and freshness where it has any of its own.
        let hasDirectives = newer.directives.isTargeted || newer.fields.has("cache-control")
        combined.directives = hasDirectives ? newer.directives : held.directives
        if hasDirectives || newer.fields.has("expires") {
            (combined.lifetime, combined.lifetimeSource) = (newer.lifetime, newer.lifetimeSource)
        } else {
            let passed = held.lifetimeSource == "expires" ? newer.date - held.date : 0
            combined.lifetime = min(max(0, held.lifetime - passed), ModelStored.largest)
            combined.lifetimeSource = held.lifetimeSource
        }
        let unstored = combined.directives.unstoredFields(policy)
        combined.fields = fields.filter { !unstored.contains($0.name.lowercased()) }
        let isGiven = ["sMaxAge", "maxAge", "expires"].contains(combined.lifetimeSource) && combined.lifetime > 0
        if policy.isShared && (!isGiven || combined.directives.isUnlimited("no-cache")) {
            combined.fields.removeAll { $0.name.lowercased() == "set-cookie" }
        }
        return combined
    }
}
