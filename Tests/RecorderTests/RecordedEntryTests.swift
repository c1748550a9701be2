import Archives
import ForwardProxy
import NIOCore
import Testing

@testable import Recorder

@Suite("An entry that is written")
struct RecordedEntryTests {
    private static let own = Redaction(names: [Redaction.standardName, "pin"])
    private static let json = [("Content-Type", "application/json"), ("Content-Length", "99")]

    private func entry(
        _ body: [UInt8], _ fields: [(String, String)] = json, _ redaction: Redaction?
    ) throws -> (RecordedEntry?, String) {
        let exchange = exchange(fields: fields, stored: body.count)
        let entry: RecordedEntry
        do throws(Unrecorded) {
            entry = try RecordedEntry(exchange, .memory([ByteBuffer(bytes: body)]), redaction: redaction)
        } catch {
            return (nil, error.rawValue)
        }
        var stream = try entry.stream()
        return (entry, String(decoding: try stream.readAll(limit: 1 << 20), as: UTF8.self))
    }

    private func coded(_ text: String) throws -> [UInt8] {
        let encoder = try GzipEncoder()
        var bytes: [UInt8] = []
        encoder.encode(Array(text.utf8), into: &bytes)
        encoder.finish(into: &bytes)
        return bytes
    }

    @Test("counts members that look like credentials, and leaves them where they were not named")
    func credentials() throws {
        let text = #"{"token":"t","nested":[{"password":"p"}],"pin":"1"}"#
        let (plain, written) = try entry(Array(text.utf8), Self.json, Redaction(names: [Redaction.standardName]))
        #expect(plain?.credentials == 2 && written == text)
        let (compressed, _) = try entry(
            try coded(text), Self.json + [("Content-Encoding", "gzip")], Redaction(names: [Redaction.standardName]))
        #expect(compressed?.credentials == 2)
        #expect(compressed?.exchange.body.codings == ["gzip"])
        let (all, unchanged) = try entry(Array(text.utf8), Self.json, nil)
        #expect(all?.credentials == 0 && unchanged == text)
        let (page, _) = try entry(Array(text.utf8), [("Content-Type", "text/html")], Self.own)
        #expect(page?.credentials == 0)
        // JSONP has members too; other programs have none.
        let script = [("Content-Type", "text/javascript; charset=utf-8")]
        let program = #"define({token: 't', f: () => ({"token": "t"})})"#
        for redaction in [Redaction(names: [Redaction.standardName]), Self.own] {
            #expect(try entry(Array("/**/ cb(\(text));".utf8), script, redaction).0?.credentials == 2)
            #expect(try entry(Array(program.utf8), script, redaction).0?.credentials == 0)
        }
        let packed = try coded("cb(\(text))")
        let (call, _) = try entry(
            packed, script + [("Content-Encoding", "gzip")], Redaction(names: [Redaction.standardName]))
        #expect(call?.credentials == 2)
    }

    @Test("counts in short bodies, and takes out of longer ones, up to what is held in memory")
    func lengths() throws {
        func text(_ count: Int) -> [UInt8] {
            Array(#"{"pin":"1","token":"t"}"#.utf8) + [UInt8](repeating: 0x20, count: count)
        }
        let standard = Redaction(names: [Redaction.standardName])
        func written(_ body: [UInt8], _ redaction: Redaction) -> RecordedEntry? {
            try? RecordedEntry(
                exchange(fields: Self.json, stored: body.count), .memory([ByteBuffer(bytes: body)]),
                redaction: redaction)
        }
        let long = text(RecordedEntry.mostCounted)
        #expect(written(text(1000), standard)?.credentials == 1)
        #expect(written(long, standard)?.credentials == 0)
        #expect(written(long, Self.own)?.exchange.body.storedBytes == long.count + "REDACTED".utf8.count - 1)
        #expect(written(text(RecordedEntry.mostSearched), Self.own) == nil)
    }

    @Test("has the named members of responses taken out, without a coding and a length that don't hold any more")
    func namedMembers() throws {
        let (plain, written) = try entry(Array(#"{"pin":"1","a":2}"#.utf8), Self.json, Self.own)
        #expect(written == #"{"pin":"REDACTED","a":2}"#)
        #expect(plain?.exchange.value("content-length") == nil)
        #expect(plain?.exchange.body.storedBytes == written.utf8.count)
        let (compressed, decoded) = try entry(
            try coded(#"{"pin":[1]}"#), Self.json + [("Content-Encoding", "gzip")], Self.own)
        #expect(decoded == #"{"pin":"REDACTED"}"#)
        #expect(compressed?.exchange.body.codings == [] && compressed?.exchange.value("content-encoding") == nil)
        let (same, untouched) = try entry(Array(#"{"a":2}"#.utf8), Self.json, Self.own)
        #expect(untouched == #"{"a":2}"# && same?.exchange.value("content-length") == Array("99".utf8))
    }

    @Test("has them taken out of JSON that says it is something else, and is none where that is in UTF-16")
    func otherLabels() throws {
        let text = #"{"pin":"1"}"#
        for fields in [[], [("Content-Type", "text/plain")], [("Content-Type", "text/html; charset=utf-8")]] {
            #expect(try entry(Array(text.utf8), fields, Self.own).1 == #"{"pin":"REDACTED"}"#)
            let coded = try entry(try coded(text), fields + [("Content-Encoding", "gzip")], Self.own)
            #expect(coded.1 == #"{"pin":"REDACTED"}"#)
        }
        let wide = text.utf8.flatMap { byte -> [UInt8] in [byte, 0] }
        #expect(try entry(wide, Self.json, Self.own).1 == "not decodable")
        #expect(try entry([0xFF, 0xFE] + wide, [("Content-Type", "text/plain")], Self.own).1 == "not decodable")
        let standard = Redaction(names: [Redaction.standardName])
        #expect(try entry(wide, Self.json, standard).0 != nil)
        // Pictures and pages stay what they are.
        #expect(try entry(Array(text.utf8), [("Content-Type", "image/png")], Self.own).1 == text)
        let page = #"<script>x = {"pin":"1"}</script>"#
        let (kept, written) = try entry(try coded(page), [("Content-Encoding", "gzip")], Self.own)
        #expect(kept?.exchange.body.codings == ["gzip"] && written != page)
    }

    @Test("is none where named members can't be looked for")
    func unreadable() throws {
        let (none, reason) = try entry(Array("no gzip".utf8), Self.json + [("Content-Encoding", "gzip")], Self.own)
        #expect(none == nil && reason == "not decodable")
        let (other, unknown) = try entry(Array("{}".utf8), Self.json + [("Content-Encoding", "xyz")], Self.own)
        #expect(other == nil && unknown == "not decodable")
        let long = try coded(String(repeating: " ", count: RecordedEntry.mostSearched + 1))
        let (longer, tooLong) = try entry(long, Self.json + [("Content-Encoding", "gzip")], Self.own)
        #expect(longer == nil && tooLong == "too long")
        let (kept, text) = try entry(
            Array("no gzip".utf8), Self.json + [("Content-Encoding", "gzip")],
            Redaction(names: [Redaction.standardName]))
        #expect(kept?.credentials == 0 && text == "no gzip")
    }

    @Test(
        "has a host by its URL",
        arguments: [
            ("http://a.test/", "a.test"), ("https://a.test:8443/x?y", "a.test:8443"), ("http://a.test?x", "a.test"),
            ("x", ""),
        ])
    func hosts(url: String, host: String) {
        #expect(RecordedEntry.host(of: Array(url.utf8)[...]).elementsEqual(host.utf8))
    }
}
