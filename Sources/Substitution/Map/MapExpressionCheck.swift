import Diagnostics
import Patterns

extension SubstitutionMap {
    /// Looks for regular expressions that are meant for https, where the tunnels to their hosts are not decrypted: an
    /// expression names no host, so it sees no URL of theirs.
    ///
    /// - Parameters:
    ///   - intercepted: the hosts whose tunnels are decrypted.
    ///   - limit: how many are reported with their places; the others are counted. The default is 20.
    public func checkExpressions(_ intercepted: InterceptedHosts, limit: Int = 20) -> [MapDiagnostic] {
        let found = storage.expressions.compactMap { entry in
            let key = storage.arena[storage.records[Int(entry.record)].keyRange]
            return SecureHosts(entry.expression, key: Array(key)).unseen(intercepted).map {
                (entry: entry, message: $0)
            }
        }
        var excerpts = RuleExcerpts(self)
        var messages = found.prefix(limit).map { entry, message in
            let number = Int(entry.record)
            let record = storage.records[number]
            let file = storage.files[Int(record.file)].name
            let place = excerpts.place(of: Array(storage.arena[record.keyRange]), in: number, since: entry.line).place
            return MapDiagnostic(Diagnostic(.warning, message, file: file, span: place.span), source: place.text)
        }
        if let next = found.dropFirst(limit).first {
            let file = storage.files[Int(storage.records[Int(next.entry.record)].file)].name
            let words = "of \(found.count - limit) further expressions the hosts are not decrypted either"
            messages.append(MapDiagnostic(Diagnostic(.warning, words, file: file), source: nil))
        }
        return messages
    }
}

/// The https hosts that a regular expression is for, as far as the texts tell that all of its matches have.
private struct SecureHosts {
    /// Hosts, with their ports.
    private var whole: [NamedHost] = []
    /// What further hosts begin with.
    private var beginnings: [String] = []

    /// - Parameter key: as it is written in the map.
    init(_ expression: LinearExpression, key: [UInt8]) {
        let prefixes = expression.literalPrefixes
        guard !prefixes.isEmpty || SecureHosts.beginsWithScheme(key) else { return }
        for text in prefixes.isEmpty ? expression.requiredLiterals : prefixes {
            guard let mark = text.firstRange(of: "://".utf8) else { continue }
            let scheme = text[..<mark.lowerBound]
            guard scheme.elementsEqual("https".utf8) || (scheme.isEmpty && prefixes.isEmpty) else { continue }
            let rest = text[mark.upperBound...]
            let authority = String(decoding: rest.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self)
            guard authority.utf8.count < rest.count else {
                beginnings.append(String(authority.prefix { $0 != ":" }))
                continue
            }
            // Where it is no host, such as 'user@host', no tunnel helps: the URLs that are matched have none such.
            guard !authority.isEmpty, !authority.contains("@") else { continue }
            if let host = NamedHost("https://\(authority)") { whole.append(host) }
        }
    }

    /// Whether the first "://" of an expression is behind the URL's own scheme: what is before it has nothing of a
    /// path, a query or a host.
    private static func beginsWithScheme(_ key: [UInt8]) -> Bool {
        guard let mark = key.firstRange(of: "://".utf8) else { return false }
        var before = key[..<mark.lowerBound]
        if let optional = before.firstRange(of: "https?".utf8) {
            before = before[..<optional.lowerBound] + before[optional.upperBound...]
        }
        return !before.contains { "/=?&.".utf8.contains($0) }
    }

    /// What is to be told if not all of them are decrypted; else nil.
    func unseen(_ intercepted: InterceptedHosts) -> String? {
        let names = whole.filter { !intercepted.contains(host: $0.host, port: $0.port ?? 443) }.map(\.host)
        guard names.isEmpty else {
            return "the tunnels to \(names.joined(separator: " and ")) are not decrypted, so this expression sees no "
                + "https URL in them; name \(names.count == 1 ? "the host" : "the hosts") in 'intercept'"
        }
        guard let beginning = beginnings.first(where: { !intercepted.hasHost(beginningWith: $0) }) else { return nil }
        let hosts = beginning.isEmpty ? "no host" : "no host that begins with '\(beginning)'"
        return "\(hosts) is decrypted, so this expression sees no https URL in a tunnel; name its hosts in 'intercept'"
    }
}

extension InterceptedHosts {
    /// Whether one of them may begin with a text.
    fileprivate func hasHost(beginningWith text: String) -> Bool {
        names.contains { $0.hasPrefix(text) }
            || patternTexts.contains { pattern in
                let literal = pattern.prefix { $0 != "*" }
                return literal.hasPrefix(text) || text.hasPrefix(literal)
            }
    }
}
