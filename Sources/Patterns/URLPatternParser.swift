/// Takes a pattern of a URL apart into literals and stars.
struct URLPatternParser {
    private let pattern: [UInt8]
    private(set) var prefix: [UInt8] = []
    private(set) var hostStart = 0
    var stars: [URLPattern.Star] = []

    init(_ pattern: [UInt8]) {
        self.pattern = pattern
    }

    /// Reads the whole pattern.
    ///
    /// - Throws: ``PatternError`` where it is no URL, or a star stands where none can.
    mutating func parse() throws(PatternError) {
        hostStart = try scheme()
        let host = host()
        let authorityEnd = pattern[host.upperBound...].firstIndex(where: Self.endsAuthority) ?? pattern.count
        var position = 0
        while position < pattern.count {
            guard pattern[position] == UInt8(ascii: "*") else {
                append(pattern[position])
                position += 1
                continue
            }
            let run = pattern[position...].prefix { $0 == UInt8(ascii: "*") }.indices
            let kind: URLPattern.StarKind
            if position < authorityEnd {
                kind = position < host.upperBound ? .host : .port
                try check(run, inAuthority: kind, host: host)
            } else {
                kind = try pathKind(of: run)
            }
            guard stars.count < URLPattern.maximumStars else {
                throw PatternError("a pattern has \(URLPattern.maximumStars) stars at most", at: run)
            }
            stars.append(URLPattern.Star(kind: kind))
            position = run.upperBound + (kind == .directories ? 1 : 0)
        }
    }

    private mutating func append(_ byte: UInt8) {
        if stars.isEmpty {
            prefix.append(byte)
        } else {
            stars[stars.count - 1].literal.append(byte)
        }
    }

    /// Checks that the pattern begins with a scheme; returns where the host begins.
    private func scheme() throws(PatternError) -> Int {
        guard let colon = pattern.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            pattern[(colon + 1)...].starts(with: "//".utf8)
        else {
            throw PatternError(
                "a pattern begins with a scheme and '//', as in https://*.example.com/", at: 0..<min(1, pattern.count))
        }
        if let star = pattern[..<colon].firstIndex(of: UInt8(ascii: "*")) {
            throw PatternError(
                "a star can't stand in the scheme; begin with '//' for both http and https", at: star..<star + 1)
        }
        return colon + 3
    }

    /// The bytes of the host, up to the port or the path.
    private func host() -> Range<Int> {
        let rest = pattern[hostStart...]
        if rest.first == UInt8(ascii: "["), let end = rest.firstIndex(of: UInt8(ascii: "]")) {
            return hostStart..<end + 1
        }
        let end = rest.firstIndex { $0 == UInt8(ascii: ":") || Self.endsAuthority($0) }
        return hostStart..<(end ?? pattern.count)
    }

    static func endsAuthority(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): true
        default: false
        }
    }

    private func check(
        _ run: Range<Int>, inAuthority kind: URLPattern.StarKind, host: Range<Int>
    ) throws(PatternError) {
        if run.count > 1 {
            let place = kind == .host ? "a host" : "a port"
            throw PatternError("'**' can't stand in \(place); write '*'", at: run)
        }
        if kind == .host, pattern[host.lowerBound] == UInt8(ascii: "[") {
            throw PatternError("a star can't stand in an IPv6 address; write '*' for the whole host", at: run)
        }
    }

    private func pathKind(of run: Range<Int>) throws(PatternError) -> URLPattern.StarKind {
        switch run.count {
        case 1: return .segment
        case 2:
            let slash = UInt8(ascii: "/")
            let isDirectories =
                pattern[run.lowerBound - 1] == slash && run.upperBound < pattern.count
                && pattern[run.upperBound] == slash
            return isDirectories ? .directories : .any
        default:
            throw PatternError(
                "there is no '\(String(repeating: "*", count: run.count))'; '*' matches text without '/', "
                    + "'**' any text",
                at: run)
        }
    }
}
