import Patterns

/// The https hosts whose tunnels are decrypted: those that an https rule names, and those of `intercept`.
///
/// Every other host's tunnel stays blind.
public struct InterceptedHosts: Sendable {
    private var exact: Set<String> = []
    /// The hosts of patterns, as those of the root page: a tunnel is decrypted where a URL in it can match, and no
    /// other.
    private var patterns: [URLPattern] = []
    /// Hosts of `intercept`, on every port.
    private var onEveryPort: [WildcardText] = []
    /// Host names and addresses without a star, for a certificate authority that is limited to them.
    public private(set) var names: [String] = []

    /// Hosts with a star, as the map has them.
    public private(set) var patternTexts: [String] = []

    /// Hosts that are none of them, whatever else says so.
    private var excluded: [WildcardText] = []

    /// - Parameters:
    ///   - others: hosts, with stars, that are decrypted beside those of the map, on every port.
    ///   - excluded: hosts, with stars, that are not.
    public init(_ map: SubstitutionMap, also others: [String] = [], without excluded: [String] = []) {
        self.excluded = excluded.map { WildcardText($0.utf8) }
        for named in map.namedHosts() where named.scheme == "https" {
            note(named.host)
            add(named)
        }
        for pattern in map.interceptPatterns + others {
            note(pattern)
            onEveryPort.append(WildcardText(pattern.utf8))
        }
    }

    public var isEmpty: Bool { exact.isEmpty && patterns.isEmpty && onEveryPort.isEmpty }

    /// Whether a host is one of them; a trailing dot and the case of letters don't count.
    ///
    /// - Parameter host: as in CONNECT: IPv6 addresses with their brackets.
    public func contains(host: String, port: UInt16) -> Bool {
        var bytes = host.utf8.map { URLText.lowercased($0) }
        if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        if !excluded.isEmpty, bytes.withUnsafeBytes({ host in excluded.contains { $0.matches(host) } }) { return false }
        let name = String(decoding: bytes, as: UTF8.self)
        if !exact.isEmpty, exact.contains("\(name):\(port)") { return true }
        if bytes.withUnsafeBytes({ host in onEveryPort.contains { $0.matches(host) } }) { return true }
        guard !patterns.isEmpty else { return false }
        let url = Array(Self.rootPage(name, port: port == 443 ? nil : "\(port)").utf8)
        var scratch = MatchScratch()
        var captures = CaptureList()
        return url.withUnsafeBytes { url in
            patterns.contains { $0.wholeMatch(in: url, scratch: &scratch, captures: &captures) }
        }
    }

    private static func rootPage(_ host: String, port: String?) -> String {
        "https://\(host)\(port.map { ":" + $0 } ?? "")/"
    }

    private mutating func note(_ host: String) {
        if host.utf8.contains(UInt8(ascii: "*")) { patternTexts.append(host) } else { names.append(host) }
    }

    private mutating func add(_ named: NamedHost) {
        if let port = named.port, !named.host.utf8.contains(UInt8(ascii: "*")) {
            exact.insert("\(named.host):\(port)")
            return
        }
        let port = named.portPattern ?? named.port.flatMap { $0 == 443 ? nil : "\($0)" }
        // It is a part of a key that was read as a pattern.
        if let pattern = try? URLPattern(Self.rootPage(named.host, port: port)) { patterns.append(pattern) }
    }
}
