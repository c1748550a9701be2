/// How a page is opened.
public struct PageOptions: Sendable, Hashable {
    /// A field, or a cookie.
    public struct Pair: Sendable, Hashable {
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Whether the page's scripts run. The default is true.
    public var runsScripts = true
    /// Whether it shares no cache and no storage with other pages; it gets a copy of their cookies. The default is
    /// false.
    public var isApart = false
    /// Host and port of the proxy that a page which is apart has for itself; nil, the default, for the browser's.
    public var proxy: String?
    /// The URL whose host alone gets ``cookies`` and ``fields``.
    public var host: String
    /// Its size. The default is 1280 × 800.
    public var viewport = Viewport(width: 1280, height: 800)
    /// Cookies that are set before the page is loaded. None by default.
    public var cookies: [Pair] = []
    /// Fields that requests get in place of those of the same names. None by default.
    public var fields: [Pair] = []

    /// A field, and how its value begins, by which a response is none of an origin's but says that the proxy got none.
    /// The default is nil: there is no such field.
    public var failureField: Pair?

    /// How long one frame has at most while the page is frozen, in milliseconds, so that one that does not answer holds
    /// nothing up: 15 s.
    var frameTime = 15_000

    /// - Parameter host: an http or https URL.
    public init(host: String) { self.host = host }

    /// The patterns of URLs that get ``fields`` (Fetch.RequestPattern): those of the same scheme, host and port, and,
    /// where the scheme is http, those that a redirect to https leads to. `*`, `?` and `\` don't stand for themselves.
    var patterns: [String] {
        guard !fields.isEmpty, let separator = host.firstRange(of: "://") else { return [] }
        let scheme = host[..<separator.lowerBound].lowercased()
        var authority = host[separator.upperBound...].prefix { !"/?#".contains($0) }
        if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
        guard !authority.isEmpty, !authority.contains(where: { "*?\\".contains($0) }) else { return [] }
        let name = authority.lowercased()
        var patterns = ["\(scheme)://\(name)/*"]
        if scheme == "http" { patterns.append("https://\(PageOptions.withoutPort(name))/*") }
        return patterns
    }

    /// The fields, those of one name joined as one (RFC 9110 §5.2, RFC 6265 §5.4): the browser would send the last
    /// alone.
    var joinedFields: [Pair] {
        var joined: [Pair] = []
        for field in fields {
            let name = field.name.lowercased()
            if let same = joined.firstIndex(where: { $0.name.lowercased() == name }) {
                joined[same].value += (name == "cookie" ? "; " : ", ") + field.value
            } else {
                joined.append(field)
            }
        }
        return joined
    }

    private static func withoutPort(_ authority: String) -> Substring {
        guard let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") else {
            return authority[...]
        }
        return authority[..<colon]
    }
}
