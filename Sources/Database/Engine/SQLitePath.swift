/// Paths as SQLite takes them.
enum SQLitePath {
    /// A `file:` URI (https://sqlite.org/uri.html §3).
    static func uri(_ path: String, parameters: String) -> String {
        var uri: [UInt8] = Array("file:".utf8)
        for (index, segment) in path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .enumerated()
        {
            if index > 0 { uri.append(UInt8(ascii: "/")) }
            PercentCoding.appendSegment(segment, to: &uri)
        }
        return String(decoding: uri, as: UTF8.self) + "?" + parameters
    }
}
