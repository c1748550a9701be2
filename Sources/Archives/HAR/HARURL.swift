import HTTPSemantics

/// What HAR's writers make of URLs and names of files.
enum HARURL {
    /// The URL as recorded; the root page where `http://h`, `http://h/?` or `http://h/?=` stand for it.
    static func normal(_ url: UnsafeRawBufferPointer) -> [UInt8] {
        let url = Array(url)
        guard let colon = url.firstIndex(of: UInt8(ascii: ":")), url.count - colon > 3,
            url[colon + 1] == UInt8(ascii: "/"), url[colon + 2] == UInt8(ascii: "/")
        else { return url }
        let rest = url[(colon + 3)...]
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        let path = rest[(end ?? rest.endIndex)...].prefix { $0 != UInt8(ascii: "#") }
        let roots: [StaticString] = ["", "/", "/?", "/?=", "?", "?="]
        guard roots.contains(where: { root in path.withUnsafeBytes { $0.equals(root) } }) else { return url }
        return url[..<(end ?? rest.endIndex)] + [UInt8(ascii: "/")]
    }

    /// The path of a `_file` below the archive's folder; nil where it leads outside, or could on another system.
    static func path(_ file: [UInt8]) -> String? {
        guard let first = file.first, first != UInt8(ascii: "/"), !file.contains(0),
            !file.contains(UInt8(ascii: "\\"))
        else { return nil }
        if file.count >= 2, file[1] == UInt8(ascii: ":"), first.isMember(of: .alpha) { return nil }
        var segments: [String] = []
        for segment in file.split(separator: UInt8(ascii: "/")) {
            let name = String(decoding: segment, as: UTF8.self)
            guard name != ".." else { return nil }
            if name != "." { segments.append(name) }
        }
        return segments.isEmpty ? nil : segments.joined(separator: "/")
    }
}
