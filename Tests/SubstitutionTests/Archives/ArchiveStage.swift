import Archives
import Basics
import Glibc
import HTTPSemantics
import NIOCore
import Substitution
import Testing

/// An archive in a file of its own, and requests to it.
final class ArchiveStage {
    let folder: String
    private let name: String
    let map: SubstitutionMap

    /// A request that was recorded, with its response.
    struct Recorded {
        var method = "GET"
        var url: String
        var status = 200
        var fields: [(String, String)] = []
        var answer: [(String, String)] = []
        var body: String?
        var type = "application/json"

        init(_ url: String, status: Int = 200) { self.init("GET", url, status: status) }

        init(_ method: String, _ url: String, status: Int = 200, body: String? = nil) {
            self.method = method
            self.url = url
            self.status = status
            self.body = body
        }

        func with(fields: [(String, String)] = [], answer: [(String, String)] = [], type: String? = nil) -> Recorded {
            var copy = self
            copy.fields = fields
            copy.answer = answer
            if let type { copy.type = type }
            return copy
        }
    }

    /// - Parameter settings: options of the item in `archives`, as in `match: nearest`.
    convenience init(_ entries: [Recorded], _ settings: String = "") throws {
        try self.init(ArchiveStage.har(entries), named: "a.har", settings)
    }

    /// An archive that has this text.
    init(_ text: String, named name: String, _ settings: String = "") throws {
        self.name = name
        var template = Array("/tmp/subproxy-archive-XXXXXX".utf8CString)
        folder = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) } ?? "/tmp"
        }
        try ArchiveStage.write(text, to: "\(folder)/\(name)")
        let item = settings.isEmpty ? name : "{ file: \(name), \(settings) }"
        try ArchiveStage.write("archives: [\(item)]\n", to: folder + "/m.yaml")
        let result = SubstitutionMap.load(files: [folder + "/m.yaml"])
        map = try #require(result.map, "\(result.diagnostics.map(\.rendering))")
    }

    deinit {
        for name in [name, "m.yaml"] { unlink("\(folder)/\(name)") }
        rmdir(folder)
    }

    static func write(_ text: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600 as mode_t)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    }

    private static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        JSONText.append(string: text.utf8, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func har(_ entries: [Recorded]) -> String {
        func fields(_ list: [(String, String)]) -> String {
            "[" + list.map { "{\"name\":\(quoted($0.0)),\"value\":\(quoted($0.1))}" }.joined(separator: ",") + "]"
        }
        let texts = entries.map { entry in
            let type = entry.body == nil ? [] : [("Content-Type", entry.type)]
            let body =
                entry.body.map { ",\"postData\":{\"mimeType\":\(quoted(entry.type)),\"text\":\(quoted($0))}" } ?? ""
            return """
                {"startedDateTime":"2026-01-01T00:00:00Z","time":1,"request":{"method":"\(entry.method)",\
                "url":\(quoted(entry.url)),"headers":\(fields(entry.fields + type))\(body)},\
                "response":{"status":\(entry.status),"statusText":"","headers":\(fields(entry.answer)),\
                "content":{"size":1,"mimeType":"text/plain","text":"x"},"redirectURL":""}}
                """
        }
        return "{\"log\":{\"version\":\"1.2\",\"entries\":[\(texts.joined(separator: ",\n"))]}}"
    }

    /// What a request finds: `#2 order`, `#1, #2` where only the turn tells which; `miss query` and the like.
    func find(_ url: String, fields: [(String, String)] = []) throws -> String {
        try find("GET", url, fields: fields)
    }

    /// The same with another method.
    func find(
        _ method: String, _ url: String, fields: [(String, String)] = [], body: String? = nil
    ) throws -> String {
        let uri = try TargetURI(url)
        var section = FieldSection()
        for (name, value) in fields { section.append(name: name.utf8, value: value.utf8) }
        let asked = Array(method.utf8).withUnsafeBytes { RequestMethod($0) }
        let finding = map.findArchived(
            uri, method: asked, hasBody: body != nil, hasRange: section.contains(.range))
        switch finding {
        case .unknown: return "unknown"
        case .missed(let archive): return "miss \(map.archiveMiss(uri, method: asked, of: archive).reason.rawValue)"
        case .found(let found):
            let candidates = found.withoutRedirects(to: uri)
            let details = try candidates.archive.loadDetails(candidates.entries)
            let request = ArchiveRequest(section, isHead: method == "HEAD", body: body.map { Array($0.utf8) })
            let chosen = candidates.chosen(for: request, details)
            guard let first = chosen.first else {
                let miss = map.archiveMiss(
                    uri, method: asked, of: candidates.archive, hasCandidates: !candidates.areParts)
                return "miss \(miss.reason.rawValue)"
            }
            let tolerance = uri.withBytes { candidates.tolerance(first, url: $0, pathEnd: uri.pathEnd) }
            let numbers = chosen.map { "#\($0 + 1)" }.joined(separator: ", ")
            return tolerance.isEmpty ? numbers : "\(numbers) \(tolerance)"
        }
    }
}
