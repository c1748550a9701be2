import Basics
import Crypto
import HTTPSemantics

/// Names the files of a recording: `files/HOST[_PORT]/PATH…/NAME[,QUERY][.METHOD].EXT`.
///
/// No two have the same name, whatever the case, and none has the name of a folder: a recording can be checked out on
/// any system.
public struct RecordingNames: Sendable {
    /// The bytes that a segment has at most.
    static let segmentLimit = 80
    /// The bytes that a whole name has at most, but for what tells it from a name that is taken.
    static let limit = 240

    /// The names that are taken, in lower case: true for a folder's.
    private var taken: [[UInt8]: Bool] = [:]
    /// Of a name in lower case, which number the next one gets.
    private var numbers: [[UInt8]: Int] = [:]

    public init() {}

    /// Says that a file has a name already, and its folders theirs.
    public mutating func take(_ path: [UInt8]) {
        let path = path.map(\.asciiLowercased)
        taken[path] = false
        for (index, byte) in path.enumerated() where byte == UInt8(ascii: "/") { taken[Array(path[..<index])] = true }
    }

    /// A name for a body, which is taken from now on.
    ///
    /// - Parameters:
    ///   - url: as it is recorded.
    ///   - type: the value of Content-Type; empty for none.
    ///   - mark: what a request's body has before its extension; a response's has none.
    public mutating func name(_ url: [UInt8], method: String, type: [UInt8], mark: String = "") -> [UInt8] {
        let parts = URLParts(url)
        let hash = "~" + Hexadecimal.text(SHA256.hash(data: url).prefix(4))
        var folders = [Array("files".utf8), RecordingNames.segment(parts.host, hash)]
        folders += parts.folders.map { RecordingNames.segment($0, hash) }
        let (stem, suffix) = RecordingNames.last(parts, method, type, mark)
        let room = RecordingNames.segmentLimit - suffix.count
        let clean = RecordingNames.harmless(stem, isWhole: suffix.isEmpty)
        let name = RecordingNames.cut(clean, to: room, hash, isWhole: clean.count <= room)
        folders = RecordingNames.fitting(folders, RecordingNames.limit - name.count - suffix.count - 1, hash)
        let folder = free(folders)
        let whole = (folder + name + suffix).map(\.asciiLowercased)
        var number = numbers[whole] ?? 1
        while true {
            let path = folder + name + (number > 1 ? Array("~\(number)".utf8) : []) + suffix
            number += 1
            guard taken[path.map(\.asciiLowercased)] == nil else { continue }
            take(path)
            numbers[whole] = number
            return path
        }
    }

    // MARK: Segments

    /// The last segment without its extension, and `.EXT`.
    private static func last(
        _ parts: URLParts, _ method: String, _ type: [UInt8], _ mark: String
    ) -> (stem: [UInt8], suffix: [UInt8]) {
        var stem = sanitised(parts.name.isEmpty ? Array("index.html".utf8) : parts.name)
        if !parts.query.isEmpty { stem += [UInt8(ascii: ",")] + sanitised(parts.query) }
        if method != "GET" { stem += [UInt8(ascii: ".")] + sanitised(Array(method.utf8.prefix(32))) }
        stem += Array(mark.utf8)
        let dot = stem.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 > 0 && stem.count - $0 <= 17 ? $0 : nil }
        guard let name = MediaExtension.of(type), name != "bin" || dot == nil else {
            // What stands behind the last point goes on being the extension.
            guard let dot, dot < stem.count - 1 else { return (stem, []) }
            return (Array(stem[..<dot]), Array(stem[dot...]))
        }
        // What was added is no extension, as PATCH would be one of text.
        let isAsAsked = method == "GET" && mark.isEmpty
        if isAsAsked, let dot, MediaExtension.isOne(stem[(dot + 1)...], of: type) {
            return (Array(stem[..<dot]), Array(stem[dot...]))
        }
        return (stem, Array(".\(name)".utf8))
    }

    /// A folder's segment.
    private static func segment(_ text: [UInt8], _ hash: String) -> [UInt8] {
        let clean = harmless(sanitised(text), isWhole: true)
        return cut(clean, to: segmentLimit, hash, isWhole: clean.count <= segmentLimit)
    }

    private static func cut(_ text: [UInt8], to room: Int, _ hash: String, isWhole: Bool) -> [UInt8] {
        isWhole ? text : Array(text.prefix(max(1, room - hash.utf8.count))) + Array(hash.utf8)
    }

    /// With `_` for all bytes but `A-Za-z0-9._,=+@-`.
    private static func sanitised(_ text: [UInt8]) -> [UInt8] {
        text.map { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ","),
                UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "@"), UInt8(ascii: "-"):
                byte
            default: UInt8(ascii: "_")
            }
        }
    }

    /// A segment that is none of a system's own, not empty, not hidden, and no device of Windows, which drops a point
    /// at the end too.
    ///
    /// - Parameter isWhole: whether no extension follows.
    private static func harmless(_ segment: [UInt8], isWhole: Bool) -> [UInt8] {
        guard let first = segment.first else { return [UInt8(ascii: "_")] }
        var segment = segment
        if isWhole, segment.count > 1, segment.last == UInt8(ascii: ".") {
            segment[segment.count - 1] = UInt8(ascii: "_")
        }
        if first == UInt8(ascii: ".") { return [UInt8(ascii: "_")] + segment.dropFirst() }
        let stem = String(decoding: segment.prefix { $0 != UInt8(ascii: ".") }, as: UTF8.self).lowercased()
        return devices.contains(stem) ? [UInt8(ascii: "_")] + segment : segment
    }

    private static let devices: Set<String> = Set(
        ["con", "prn", "aux", "nul"] + (0...9).flatMap { ["com\($0)", "lpt\($0)"] })

    /// As many of the folders, from the first on, as have room; the last of fewer ends in the hash.
    private static func fitting(_ folders: [[UInt8]], _ room: Int, _ hash: String) -> [[UInt8]] {
        func length(_ folders: [[UInt8]]) -> Int { folders.reduce(0) { $0 + $1.count + 1 } - 1 }
        guard length(folders) > room else { return folders }
        var kept = folders
        while kept.count > 2, length(kept) + hash.utf8.count + 1 > room { kept.removeLast() }
        return kept + [Array(hash.utf8)]
    }

    /// The folders' path with a `/` at its end; a folder that has a file's name gets another one.
    private func free(_ folders: [[UInt8]]) -> [UInt8] {
        var path: [UInt8] = []
        for folder in folders {
            var next = path + folder
            var number = 2
            while taken[next.map(\.asciiLowercased)] == false {
                next = path + folder + Array("~\(number)".utf8)
                number += 1
            }
            path = next + [UInt8(ascii: "/")]
        }
        return path
    }

    /// What of a URL a name is made of.
    private struct URLParts {
        /// `HOST` or `HOST_PORT`.
        var host: [UInt8]
        var folders: [[UInt8]] = []
        var name: [UInt8] = []
        var query: [UInt8] = []

        init(_ url: [UInt8]) {
            let scheme = url.prefix { $0 != UInt8(ascii: ":") }
            var rest = url[scheme.endIndex...]
            if rest.starts(with: "://".utf8) { rest = rest.dropFirst(3) } else { rest = url[...] }
            if let hash = rest.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<hash] }
            if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
                query = Array(rest[(mark + 1)...])
                rest = rest[..<mark]
            }
            let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            host = URLParts.host(rest[..<slash], scheme)
            guard slash < rest.endIndex else { return }
            var segments = rest[(slash + 1)...].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            name = segments.popLast().map { Array($0) } ?? []
            folders = segments.map { Array($0) }
        }

        private static func host(_ authority: ArraySlice<UInt8>, _ scheme: ArraySlice<UInt8>) -> [UInt8] {
            let authority = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] } ?? authority
            let host = authority.map(\.asciiLowercased)
            let isSecure = scheme.map(\.asciiLowercased).elementsEqual("https".utf8)
            let ending = Array((isSecure ? ":443" : ":80").utf8)
            return host.count > ending.count && host.suffix(ending.count).elementsEqual(ending)
                ? Array(host.dropLast(ending.count)) : host
        }
    }
}
