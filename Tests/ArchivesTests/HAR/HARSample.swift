@testable import Archives

/// Makes HARs for tests, and opens them.
enum HARSample {
    /// A HAR of these entries, as they are written.
    static func har(_ entries: String...) -> String {
        #"{"log":{"version":"1.2","creator":{"name":"t","version":"1"},"entries":["# + entries.joined(separator: ",\n")
            + "]}}"
    }

    /// An entry whose request and response have these members beside URL and status.
    static func entry(
        url: String = "http://a.example/", method: String = "GET", status: String = "200", request: String = "",
        response: String = "", content: String = #""size":0,"mimeType":"text/plain""#, more: String = ""
    ) -> String {
        #"{"startedDateTime":"2026-11-23T04:05:06.789Z","time":1,"request":{"method":"\#(method)","url":"\#(url)","#
            + #""headers":[]\#(request)},"response":{"status":\#(status),"statusText":"x","headers":[]\#(response),"#
            + #""content":{\#(content)},"redirectURL":""},"cache":{},"timings":{}\#(more)}"#
    }

    static func open(_ text: String, files: [String: [UInt8]] = [:]) throws -> Archive {
        try open(Array(text.utf8), files: files)
    }

    static func open(_ bytes: [UInt8], files: [String: [UInt8]] = [:]) throws -> Archive {
        try Archive.open(ArchiveInput(name: "a.har", bytes: ArchiveBytes(bytes)) { files[$0].map { ArchiveBytes($0) } })
    }

    /// The problem of a file that is no archive.
    static func problem(_ text: String, files: [String: [UInt8]] = [:]) -> String? {
        do {
            _ = try open(text, files: files)
            return nil
        } catch {
            return (error as? ArchiveProblem)?.description(file: "a.har")
        }
    }
}

extension Archive {
    /// The body of an entry, as text.
    func text(_ index: Int) throws -> String {
        String(decoding: try bytes(index), as: UTF8.self)
    }

    func bytes(_ index: Int) throws -> [UInt8] {
        var stream = try openBody(index)
        return try stream.readAll(limit: 1 << 24)
    }

    /// The fields of a response, a line each.
    func fields(_ index: Int) throws -> [String] {
        try exchange(index).fields.map {
            String(decoding: $0.name, as: UTF8.self) + ": " + String(decoding: $0.value, as: UTF8.self)
        }
    }

    var messages: [String] { warnings.map { $0.description(file: "a.har") } }
}
