/// The https hosts whose tunnels are decrypted: those that an https rule names, and those of `intercept`.
///
/// Every other host's tunnel stays blind.
public struct InterceptedHosts: Sendable {
    private struct Pattern {
        let host: WildcardText
        /// nil stands for every port.
        let port: UInt16?
    }

    private var exact: Set<String> = []
    private var patterns: [Pattern] = []
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
            add(named.host, port: named.isAnyPort ? nil : named.port)
        }
        for pattern in map.interceptPatterns + others { add(pattern, port: nil) }
    }

    public var isEmpty: Bool { exact.isEmpty && patterns.isEmpty }

    /// Whether a host is one of them; a trailing dot and the case of letters don't count.
    ///
    /// - Parameter host: as in CONNECT: IPv6 addresses with their brackets.
    public func contains(host: String, port: UInt16) -> Bool {
        var bytes = host.utf8.map { URLText.lowercased($0) }
        if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        if !excluded.isEmpty, bytes.withUnsafeBytes({ host in excluded.contains { $0.matches(host) } }) { return false }
        if !exact.isEmpty, exact.contains("\(String(decoding: bytes, as: UTF8.self)):\(port)") { return true }
        return bytes.withUnsafeBytes { bytes in
            patterns.contains { ($0.port ?? port) == port && $0.host.matches(bytes) }
        }
    }

    private mutating func add(_ host: String, port: UInt16?) {
        if host.utf8.contains(UInt8(ascii: "*")) { patternTexts.append(host) } else { names.append(host) }
        if let port, !host.utf8.contains(UInt8(ascii: "*")) {
            exact.insert("\(host):\(port)")
        } else {
            patterns.append(Pattern(host: WildcardText(host.utf8), port: port))
        }
    }
}
