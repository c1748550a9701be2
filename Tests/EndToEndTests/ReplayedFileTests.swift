import Foundation
import Glibc
import ProxyTestKit
import Testing

/// The built program with archives whose files change, and with recorded bodies that are coded.
@Suite("Replaying archives that change", .onThreads)
struct ReplayedFileTests {
    private static func entry(
        _ url: String, _ text: String, method: String = "GET", fields: [(String, String)] = [], isFile: Bool = false
    ) -> String {
        let lines = fields.map { "{\"name\":\"\($0.0)\",\"value\":\"\($0.1)\"}" }.joined(separator: ",")
        return """
            {"startedDateTime":"2026-01-01T00:00:00Z","time":1,\
            "request":{"method":"\(method)","url":"\(url)","headers":[]},\
            "response":{"status":200,"statusText":"","redirectURL":"","headers":[\(lines)],\
            "content":{"size":1,"mimeType":"text/plain","\(isFile ? "_file" : "text")":"\(text)"}}}
            """
    }

    private static func har(_ entries: String...) -> String {
        "{\"log\":{\"version\":\"1.2\",\"entries\":[\(entries.joined(separator: ",\n"))]}}"
    }

    private static func failures(_ binary: RunningBinary) throws -> Bool {
        try EndToEnd.Metrics.value(#"subproxy_reloads_total{subject="map",result="failure"}"#, binary) ?? 0 >= 1
    }

    @Test("What is retained is answered from memory when the archive was changed in place, and all else is 503")
    func changedInPlace() throws {
        let folder = TemporaryFolder()
        let path = try folder.write(
            "a.har",
            Self.har(
                Self.entry("http://a.test/poll", "one"), Self.entry("http://a.test/poll", "two"),
                Self.entry("http://a.test/other", "other"), Self.entry("http://a.test/other", "other")))
        let binary = try RunningBinary(map: path, ["--offline"])
        #expect(try [0, 1, 2].map { _ in try binary.get("http://a.test/poll").text } == ["one", "two", "two"])
        // A file that is no archive any more leaves the old one in force.
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.write(contentsOf: Data("no archive".utf8))
        try handle.close()
        try Wait.until { try Self.failures(binary) }
        for _ in 0..<8 { #expect(try binary.get("http://a.test/poll").text == "two") }
        #expect(try binary.get("http://a.test/other").status == 503)
    }

    @Test("What lies where a body was that was not asked for yet is never kept for it, however long it is asked for")
    func changedBeforeItIsRead() throws {
        let folder = TemporaryFolder()
        let secret = String(repeating: "SECRET", count: 100)
        let text = Self.har(
            Self.entry("http://a.test/plain", String(repeating: "B", count: 600)), Self.entry("http://a.test/s", secret)
        )
        let path = try folder.write("a.har", text)
        let binary = try RunningBinary(map: path, ["--offline"])
        #expect(try binary.get("http://a.test/s").text == secret)
        // As long as before; where the first body was stands the second.
        let start = try #require(text.range(of: "BBB")).lowerBound
        let other = try #require(text.range(of: secret)).lowerBound
        let moved = String(text[other...])
        let count = text.distance(from: text.startIndex, to: start)
        let wreck = String(repeating: " ", count: count) + moved
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.write(contentsOf: Data((wreck + String(repeating: " ", count: text.count - wreck.count)).utf8))
        try handle.close()
        try Wait.until { try Self.failures(binary) }
        for _ in 0..<4 {
            #expect(try binary.get("http://a.test/plain").status == 503)
            let part = try binary.get("http://a.test/plain", fields: ["Range: bytes=0-9"])
            #expect(part.status == 503)
            #expect(try binary.get("http://a.test/s").text == secret)
        }
    }

    @Test("A file beside a HAR that has a body counts when it is edited, comes and goes")
    func siblings() throws {
        let folder = TemporaryFolder()
        try folder.write("body.txt", "first")
        let path = try folder.write(
            "a.har",
            Self.har(
                Self.entry("http://a.test/x", "body.txt", isFile: true),
                Self.entry("http://a.test/y", "late.txt", isFile: true)))
        let binary = try RunningBinary(map: path, ["--offline"])
        #expect(try binary.get("http://a.test/x").text == "first")
        #expect(try binary.get("http://a.test/y").status == 504)
        try folder.write("new.txt", "second")
        try #require(rename("\(folder.path)/new.txt", "\(folder.path)/body.txt") == 0)
        try Wait.until { try binary.get("http://a.test/x").text == "second" }
        try folder.write("late.txt", "late")
        try Wait.until { try binary.get("http://a.test/y").text == "late" }
        try #require(unlink("\(folder.path)/body.txt") == 0)
        try Wait.until { try binary.get("http://a.test/x").status == 504 }
    }

    @Test("Each of very many files beside a HAR counts when it is edited")
    func manySiblings() throws {
        let folder = TemporaryFolder()
        let numbers = 0..<1200
        for number in numbers { try folder.write("b\(number).txt", "\(number)") }
        let entries = numbers.map { Self.entry("http://a.test/\($0)", "b\($0).txt", isFile: true) }
        let path = try folder.write(
            "a.har", "{\"log\":{\"version\":\"1.2\",\"entries\":[\(entries.joined(separator: ",\n"))]}}")
        let binary = try RunningBinary(map: path, ["--offline"])
        #expect(try binary.get("http://a.test/1199").text == "1199")
        try folder.write("new.txt", "second")
        try #require(rename("\(folder.path)/new.txt", "\(folder.path)/b1199.txt") == 0)
        try Wait.until { try binary.get("http://a.test/1199").text == "second" }
    }

    @Test("A body that was recorded with deflate passes as it is to a client that takes it, and decoded to others")
    func deflate() throws {
        let folder = TemporaryFolder()
        // zlib's form of "hello" (RFC 1950).
        let coded: [UInt8] = [0x78, 0x9C, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x06, 0x2C, 0x02, 0x15]
        let message = Array("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n".utf8) + coded
        let head =
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\nContent-Type: application/http\r\n"
            + "Content-Length: \(message.count)\r\n\r\n"
        let path = "\(folder.path)/a.warc"
        try Data(Array(head.utf8) + message + Array("\r\n\r\n".utf8)).write(to: URL(filePath: path))
        let binary = try RunningBinary(map: path, ["--offline"])
        let passed = try binary.get("http://a.test/", fields: ["Accept-Encoding: gzip, deflate"])
        #expect(Array(passed.body) == coded && passed.head.contains("Content-Encoding: deflate\r\n"))
        let decoded = try binary.get("http://a.test/", fields: ["Accept-Encoding: gzip"])
        #expect(decoded.text == "hello" && !decoded.head.contains("Content-Encoding"))
        #expect(decoded.head.contains("Vary: Accept-Encoding"))
    }

    @Test("What a POST has answered has no conditions and no ranges")
    func conditions() throws {
        let folder = TemporaryFolder()
        let path = try folder.write(
            "a.har", Self.har(Self.entry("http://a.test/x", "posted", method: "POST", fields: [("ETag", "\\\"v\\\"")])))
        let binary = try RunningBinary(map: path, ["--offline"])
        for field in ["If-None-Match: \"v\"", "If-None-Match: *", "If-Match: \"w\"", "Range: bytes=0-1"] {
            let response = try binary.exchange("POST", "http://a.test/x", fields: [field])
            #expect(response.status == 200 && response.text == "posted", "\(field)")
        }
    }

    @Test("A proxy with archives alone says nothing of rules; a miss of another host answers CORS too")
    func pages() throws {
        let folder = TemporaryFolder()
        let path = try folder.write("a.har", Self.har(Self.entry("http://a.test/x", "x")))
        let replay = try SubproxyProcess.run([
            "replay", path, "--ca-dir", "\(folder.path)/ca", "--", "curl", "--silent", "--include", "--header",
            "Origin: http://a.test", "http://b.test/",
        ])
        #expect(replay.output.contains("Access-Control-Allow-Origin: http://a.test\r\n"), "\(replay.output)")
        let binary = try RunningBinary(map: path, ["--offline"])
        let page = try binary.get("http://127.0.0.1:\(binary.port)/").text
        #expect(page.contains("a.har</code> (1 of 1 entries)") && !page.contains("rules in force"))
    }
}
