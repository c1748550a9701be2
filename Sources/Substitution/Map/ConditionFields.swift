/// The request fields that conditions of rules look at, and which answers depend on which of them.
///
/// An answer names them in Vary (RFC 9110 §12.5.5): else a cache that has stored it gave it to a request that another
/// rule answers. Rules of the same host count, and those that may be of any host; whether their paths meet isn't asked.
struct ConditionFields: Sendable {
    /// Those of all rules, each once.
    private(set) var all: [String] = []
    /// Those of patterns with a star in their host, and of regular expressions.
    private var anywhere: [String] = []
    /// Those for answers at a scheme, host and port.
    private var byAuthority: [String: [String]] = [:]

    init(_ storage: MapStorage) {
        for record in storage.records where storage.summaries[Int(record.options)].hasFieldConditions {
            let names = storage.options[Int(record.options)].conditionFields
            all.append(missing: names)
            if let authority = ConditionFields.authority(of: record, storage) {
                byAuthority[authority, default: []].append(missing: names)
            } else {
                anywhere.append(missing: names)
            }
        }
        for authority in byAuthority.keys { byAuthority[authority]?.append(missing: anywhere) }
    }

    /// Those that an answer of a rule depends on.
    func names(for record: RuleRecord, _ storage: MapStorage) -> [String] {
        guard !all.isEmpty else { return [] }
        guard let authority = ConditionFields.authority(of: record, storage) else { return all }
        return byAuthority[authority] ?? anywhere
    }

    /// Scheme, host and port of a rule's key; nil where that may be one of many.
    private static func authority(of record: RuleRecord, _ storage: MapStorage) -> String? {
        guard record.kind != .expression else { return nil }
        let parts = storage.key(record).split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count >= 3, !parts[2].contains("*") else { return nil }
        return "\(parts[0])//\(parts[2])"
    }
}

extension RuleOptions {
    /// The names of the fields that `request-headers` and `navigation` look at.
    fileprivate var conditionFields: [String] {
        let names = fieldConditions.map { String(decoding: $0.name, as: UTF8.self) }
        return navigation == nil ? names : names + Navigation.fieldNames
    }
}

extension [String] {
    fileprivate mutating func append(missing names: [String]) {
        for name in names where !contains(name) { append(name) }
    }
}
