import HTTPCaching
import HTTPSemantics
import NIOCore

/// The model's values as the rules take them, and what the rules give as the model's values.
enum ModelBridge {
    static func instant(_ instant: ModelInstant) -> CacheInstant {
        CacheInstant(wall: instant.wall, steady: instant.steady)
    }

    static func policy(_ policy: ModelPolicy) -> CachePolicy {
        var converted = CachePolicy()
        converted.mode = policy.isShared ? .shared : .private
        converted.targetedFields = policy.targetedFields.map { Array($0.utf8) }
        converted.heuristicPercent = policy.heuristicPercent
        converted.heuristicLimit = policy.heuristicLimit
        return converted
    }

    static func method(_ method: String) -> Method { Array(method.utf8).withUnsafeBytes { Method($0) } }

    static func request(_ request: ModelRequest) -> CacheRequest {
        CacheRequest(
            method: method(request.method), fields: request.fields.section, hasContent: request.hasContent)
    }

    static func response(_ response: ModelResponse) -> OriginResponse {
        OriginResponse(
            status: response.status, reason: ByteBuffer(), fields: response.fields.section,
            requestedAt: instant(response.requestedAt), receivedAt: instant(response.receivedAt))
    }

    static func fields(_ section: FieldSection) -> [ModelField] {
        section.lines.map { line in
            let name = section.withName(line) { String(decoding: $0, as: UTF8.self) }
            return ModelField(name, section.withValue(line) { String(decoding: $0, as: UTF8.self) })
        }
    }

    static func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    static func name(_ verdict: ReuseVerdict) -> String {
        switch verdict {
        case .fresh: "fresh"
        case .stale(let permission): "stale.\(permission)"
        case .validate(let reason): "validate.\(reason)"
        case .unusable(let reason): "unusable.\(reason)"
        }
    }

    /// What differs between a stored response of the rules and the model's, in words; nil where nothing does.
    static func difference(_ rules: StoredResponse, _ model: ModelStored) -> String? {
        var differences: [String] = []
        func compare<Value: Equatable>(_ what: String, _ rules: Value, _ model: Value) {
            if rules != model { differences.append("\(what): rules \(rules), model \(model)") }
        }
        compare("status", rules.status, model.status)
        var rulesFields = fields(rules.fields).byName
        var modelFields = model.fields.byName
        // RFC 9110 §6.6.1: a malformed Date may be replaced or kept.
        if model.hasBadDate {
            rulesFields["date"] = nil
            modelFields["date"] = nil
        }
        compare("fields", rulesFields, modelFields)
        compare("lifetime", rules.lifetime.seconds, model.lifetime)
        if model.lifetime > 0 { compare("lifetime's source", "\(rules.lifetime.source)", model.lifetimeSource) }
        compare("initial age", rules.correctedInitialAge, model.initialAge)
        compare("time of receipt", rules.receivedAt, instant(model.receivedAt))
        compare("date", rules.date, model.date)
        compare("etag", text(rules.etag), model.etag)
        compare("last modified", rules.lastModified, model.lastModified)
        if !model.selectsNothing {
            compare("selecting", rules.selection.names.compactMap(text), model.selecting.keys.sorted())
        }
        compare("authorized", rules.isAuthorized, model.isAuthorized)
        compare("part's range", rules.part?.range, model.part?.range)
        compare("part's complete length", rules.part?.completeLength, model.part?.completeLength)
        if let directives = difference(rules.directives, model.directives) { differences.append(directives) }
        return differences.isEmpty ? nil : differences.joined(separator: "\n  ")
    }

    private static func difference(_ rules: ResponseDirectives, _ model: ModelDirectives) -> String? {
        let flags: [(String, Bool)] = [
            ("no-store", rules.noStore), ("must-understand", rules.mustUnderstand), ("public", rules.isPublic),
            ("must-revalidate", rules.mustRevalidate), ("proxy-revalidate", rules.proxyRevalidate),
            ("no-transform", rules.noTransform), ("immutable", rules.immutable), ("no-cache", rules.noCache != nil),
            ("private", rules.isPrivate != nil), ("max-age", rules.maxAge != nil), ("s-maxage", rules.sMaxAge != nil),
        ]
        for (name, isSet) in flags where isSet != model.has(name) { return "\(name): rules \(isSet)" }
        let seconds: [(String, Int64?)] = [
            ("stale-while-revalidate", rules.staleWhileRevalidate), ("stale-if-error", rules.staleIfError),
        ]
        for (name, value) in seconds where value != model.seconds(name) {
            return "\(name): rules \(value.map { "\($0)" } ?? "nil"), model \(model.seconds(name) ?? -1)"
        }
        let restrictions: [(String, ResponseDirectives.Restriction?)] = [
            ("no-cache", rules.noCache), ("private", rules.isPrivate),
        ]
        for (name, restriction) in restrictions {
            var limitedTo: Set<String>?
            if case .fields(let names) = restriction { limitedTo = Set(names.compactMap(text)) }
            if limitedTo != model.limitedTo(name) {
                return "\(name): rules limited to \(limitedTo ?? []), model \(model.limitedTo(name) ?? [])"
            }
        }
        return rules.isTargeted == model.isTargeted ? nil : "targeted: rules \(rules.isTargeted)"
    }
}
