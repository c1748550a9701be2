import Archives
import HTTPSemantics

/// A host that a rule names.
public struct NamedHost: Sendable, Hashable {
    /// The scheme in lower case.
    public let scheme: String
    /// The host in lower case, with stars where the rule is a pattern; an IPv6 address has its brackets.
    public let host: String
    /// The port, or the scheme's own where the rule names none; nil where it has none, and where it has a star.
    public let port: UInt16?
    /// The port where it has a star in it.
    let portPattern: String?

    /// Whether the port has a star.
    public var isAnyPort: Bool { portPattern != nil }

    /// Reads `scheme://host[:port]`.
    init?(_ authority: String) {
        let bytes = Array(authority.utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes.count >= colon + 3 else { return nil }
        let scheme = String(decoding: bytes[..<colon], as: UTF8.self)
        let rest = bytes[(colon + 3)...]
        let close = rest.lastIndex(of: UInt8(ascii: "]")) ?? rest.startIndex
        let mark = rest[close...].firstIndex(of: UInt8(ascii: ":"))
        host = String(decoding: rest[..<(mark ?? rest.endIndex)], as: UTF8.self)
        let digits = mark.map { rest[($0 + 1)...] } ?? []
        portPattern = digits.contains(UInt8(ascii: "*")) ? String(decoding: digits, as: UTF8.self) : nil
        switch scheme {
        case "http": port = mark == nil ? 80 : UInt16(String(decoding: digits, as: UTF8.self))
        case "https": port = mark == nil ? 443 : UInt16(String(decoding: digits, as: UTF8.self))
        default: port = mark == nil ? nil : UInt16(String(decoding: digits, as: UTF8.self))
        }
        self.scheme = scheme
    }
}

extension SubstitutionMap {
    /// The schemes, hosts and ports that rules name, each once, in the order of the files.
    ///
    /// Regular expressions name no host: where one is meant for https, `intercept` says which hosts are decrypted.
    /// Made at each call; keep it.
    public func namedHosts() -> [NamedHost] {
        let ofRules = storage.authorities.entries.compactMap { NamedHost(storage.text($0.range)) }
        guard hasArchives else { return ofRules }
        var seen = Set(ofRules)
        return ofRules + storage.archives.flatMap(\.hosts).filter { seen.insert($0).inserted }
    }

    /// Where the map first has a host decrypted, as messages about maps say it, with the file's name as its user wrote
    /// it: `maps/substitutions.yaml:12`; nil where it doesn't. Looks at all rules.
    ///
    /// - Parameter host: as ``InterceptedHosts/names`` and ``InterceptedHosts/patternTexts`` have it.
    public func positionOfInterception(of host: String) -> String? {
        for rule in rules where rule.kind != .expression {
            let parts = rule.key.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
            guard parts.count >= 3, let named = NamedHost("\(parts[0])//\(parts[2])") else { continue }
            if named.scheme == "https", named.host == host { return "\(rule.mapFile):\(rule.location.line)" }
        }
        return storage.intercepted.first { $0.host == host }?.position
            ?? storage.archives.first { $0.hosts.contains { $0.scheme == "https" && $0.host == host } }?.archive.name
    }

    /// Whether the map has regular expressions, which may match any host.
    public var hasExpressions: Bool { !storage.expressions.isEmpty }
}
