/// The request fields that conditions of rules look at, and which answers depend on which of them.
///
/// An answer names them in Vary (RFC 9110 §12.5.5): else a cache that has stored it gave it to a request that another
/// rule answers. A rule's answer depends on conditions of rules that may be looked at for the same URL.
struct ConditionFields: Sendable {
    /// Keys with conditions on one host.
    private struct Host {
        /// What their URLs begin with, and the fields of each.
        private(set) var beginnings: [(url: [UInt8], fields: [String])] = []
        private(set) var all: [String] = []

        /// More keys than these are not compared: then their fields count for all rules of the host.
        private static let most = 64
        var hasTooMany: Bool { beginnings.count > Host.most }

        mutating func add(_ url: [UInt8], _ names: [String]) {
            all.append(missing: names)
            // Rules of one key follow each other.
            if let last = beginnings.last, last.url == url {
                beginnings[beginnings.count - 1].fields.append(missing: names)
            } else if !hasTooMany {
                beginnings.append((url, names))
            }
        }
    }

    /// Those of all rules, each once.
    private(set) var all: [String] = []
    /// Those of patterns with a star in their host, and of regular expressions.
    private var anywhere: [String] = []
    /// By scheme, host and port.
    private var hosts: [[UInt8]: Host] = [:]
    /// Those of exact URLs, by the hash of the URL without its query: two with the same one name each other's too. Of
    /// other keys none is looked at before.
    private var exact: [UInt64: [String]] = [:]

    init(_ storage: MapStorage) {
        // Most maps have none, and some have a million rules.
        guard storage.summaries.contains(where: \.hasFieldConditions) else { return }
        // Rules with the same conditions share one list.
        var lists: [UInt32: [String]] = [:]
        for record in storage.records where storage.summaries[Int(record.options)].hasFieldConditions {
            let names = lists[record.options] ?? storage.options[Int(record.options)].conditionFields
            lists[record.options] = names
            all.append(missing: names)
            guard let url = Beginning(record, storage) else {
                anywhere.append(missing: names)
                continue
            }
            hosts[url.authority, default: Host()].add(url.bytes, names)
            if record.kind == .exact { exact[url.hash] = exact[url.hash]?.adding(names) ?? names }
        }
    }

    /// Those that an answer of a rule depends on.
    func names(for record: RuleRecord, _ storage: MapStorage) -> [String] {
        guard !all.isEmpty else { return [] }
        guard let own = Beginning(record, storage) else { return all }
        if record.kind == .exact { return exact[own.hash] ?? [] }
        guard let host = hosts[own.authority] else { return anywhere }
        guard !host.hasTooMany else { return host.all.adding(anywhere) }
        var names: [String] = []
        for other in host.beginnings where other.url.starts(with: own.bytes) || own.bytes.starts(with: other.url) {
            names.append(missing: other.fields)
        }
        return names.adding(anywhere)
    }

    /// What all URLs of a key begin with: up to its first star, and without a query.
    private struct Beginning {
        let bytes: [UInt8]
        /// Scheme, host and port.
        let authority: [UInt8]

        var hash: UInt64 { bytes.withUnsafeBytes { URLHash.of($0) } }

        /// Nil where scheme, host and port may be those of several.
        init?(_ record: RuleRecord, _ storage: MapStorage) {
            guard record.kind != .expression else { return nil }
            let key = storage.withText(record.keyRange) { Array($0) }
            let slash = UInt8(ascii: "/")
            let bytes = key.prefix { $0 != UInt8(ascii: "?") && (record.kind != .pattern || $0 != UInt8(ascii: "*")) }
            let parts = bytes.split(separator: slash, maxSplits: 3, omittingEmptySubsequences: false)
            // Without a path it was cut in the authority.
            guard parts.count == 4 else { return nil }
            self.bytes = Array(bytes)
            authority = Array(bytes[..<parts[2].endIndex])
        }
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

    fileprivate func adding(_ names: [String]) -> [String] {
        var sum = self
        sum.append(missing: names)
        return sum
    }
}
