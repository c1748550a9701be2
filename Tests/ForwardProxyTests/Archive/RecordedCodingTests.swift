import Files
import ProxyTestKit
import Substitution
import Testing

@testable import Archives
@testable import ForwardProxy

@Suite("Recorded bodies with content codings")
struct RecordedCodingTests {
    private static func warc(_ url: String, _ fields: [String], _ body: String) -> String {
        let message = (["HTTP/1.1 200 OK"] + fields + ["", ""]).joined(separator: "\r\n") + body
        let head = [
            "WARC/1.1", "WARC-Type: response", "WARC-Target-URI: \(url)", "Content-Type: application/http",
            "Content-Length: \(message.utf8.count)", "", "",
        ]
        return head.joined(separator: "\r\n") + message + "\r\n\r\n"
    }

    /// A HAR whose entry has a body in base64.
    private static func har(_ url: String, coding: String, base64: String) -> String {
        """
        {"log":{"version":"1.2","entries":[{"startedDateTime":"2026-01-01T00:00:00Z","time":1,\
        "request":{"method":"GET","url":"\(url)","headers":[]},\
        "response":{"status":200,"statusText":"","redirectURL":"",\
        "headers":[{"name":"Content-Encoding","value":"\(coding)"}],\
        "content":{"size":1,"mimeType":"text/plain","encoding":"base64","text":"\(base64)"}}}]}}
        """
    }

    @Test("pass to clients that take a coding which can't be decoded, and are 502 to others")
    func unknownCoding() throws {
        let proxy = try TestProxy(
            "archives: [a.warc]\n",
            files: ["a.warc": Self.warc("http://a.test/", ["Content-Encoding: Foo", "ETag: \"v\""], "coded")])
        for _ in 0..<3 {
            for accepted in ["foo", "FOO;q=0.5, gzip", "*", "gzip, *;q=0.1"] {
                let passed = try proxy.exchange(
                    "GET", "http://a.test/", fields: ["Accept-Encoding: \(accepted)"])
                #expect(passed.status == 200 && passed.body == "coded", "\(accepted): \(passed.head)")
                #expect(passed.field("Content-Encoding") == "Foo" && passed.field("ETag") == "\"v\"")
                #expect(passed.field("Vary")?.contains("Accept-Encoding") == true)
                #expect(passed.field("Content-Length") == "5")
            }
            for refused in [
                [], ["Accept-Encoding: gzip"], ["Accept-Encoding: foo;q=0"], ["Accept-Encoding: *, foo;q=0"],
            ] {
                let failed = try proxy.exchange("GET", "http://a.test/", fields: refused)
                #expect(failed.status == 502 && failed.body.contains("the content coding 'foo' is not known"))
            }
        }
        let fields = ["Accept-Encoding: foo"]
        let unchanged = try proxy.exchange("GET", "http://a.test/", fields: fields + ["If-None-Match: \"v\""])
        #expect(unchanged.status == 304)
        let head = try proxy.exchange("HEAD", "http://a.test/", fields: fields)
        #expect(head.status == 200 && head.field("Content-Length") == "5")
    }

    @Test("in two codings pass to clients that take both, and are decoded to others", arguments: [8, 1 << 20])
    func twoCodings(retained: Int) throws {
        // "hello" in brotli, and that in gzip.
        let coded = "H4sIAAAAAAACA+NmashIzcnJZwYA205LUAkAAAA="
        let proxy = try TestProxy(
            "archives: [a.har]\n",
            files: ["a.har": Self.har("http://a.test/", coding: "br, gzip", base64: coded)]
        ) { $0.retention.file = retained }
        var tags: Set<String> = []
        for _ in 0..<3 {
            let passed = try proxy.exchange("GET", "http://a.test/", fields: ["Accept-Encoding: gzip, br"])
            #expect(passed.field("Content-Encoding") == "br, gzip", "\(passed.head)")
            // One that is not in memory comes in chunks.
            #expect(passed.bytes.firstRange(of: [0x1F, 0x8B, 8]) != nil && !passed.body.contains("hello"))
            let decoded = try proxy.exchange("GET", "http://a.test/", fields: ["Accept-Encoding: gzip"])
            #expect(decoded.body.contains("hello") && decoded.field("Content-Encoding") == nil, "\(decoded.head)")
            for response in [passed, decoded] {
                #expect(response.field("Vary")?.contains("Accept-Encoding") == true)
            }
            // A part is one of what the codings stand for.
            let part = try proxy.exchange(
                "GET", "http://a.test/", fields: ["Accept-Encoding: gzip, br", "Range: bytes=1-2"])
            #expect(part.status == 206 && part.body == "el" && part.field("Content-Encoding") == nil)
            tags.formUnion([passed, decoded].compactMap { $0.field("ETag") })
        }
        #expect(tags.count == 2)
    }

    @Test("over --max-entry-body say that this is what is wrong, and which option allows more")
    func tooLong() throws {
        let encoder = try GzipEncoder()
        var coded: [UInt8] = []
        encoder.encode([UInt8](repeating: 0x61, count: 1_800_000), into: &coded)
        encoder.finish(into: &coded)
        let base64 = coded.withUnsafeBytes { bytes in
            var text = ""
            for start in stride(from: 0, to: bytes.count, by: 3) {
                let group = bytes[start..<min(start + 3, bytes.count)]
                let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
                let number = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
                for place in 0..<4 {
                    text.append(place <= group.count ? digits[number >> (18 - 6 * place) & 63] : "=")
                }
            }
            return text
        }
        let proxy = try TestProxy(
            "archives: [a.har]\n", files: ["a.har": Self.har("http://a.test/", coding: "gzip", base64: base64)])
        var options = MapLoadOptions()
        options.archives.limits.body = 1 << 20
        let map = try #require(SubstitutionMap.load(files: ["\(proxy.folder)/m.yaml"], options: options).map)
        proxy.server.adopt(map)
        for _ in 0..<2 {
            let response = try proxy.exchange("GET", "http://a.test/")
            #expect(response.status == 502)
            #expect(response.body.contains("the body is longer than --max-entry-body (1048576 bytes)"))
            #expect(!response.body.contains("subproxy check"), "\(response.body)")
        }
        let passed = try proxy.exchange("GET", "http://a.test/", fields: ["Accept-Encoding: gzip"])
        #expect(passed.status == 200 && passed.bytes.suffix(coded.count).elementsEqual(coded))
    }
}
