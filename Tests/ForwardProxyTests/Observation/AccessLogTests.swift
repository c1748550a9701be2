import Foundation
import Glibc
import NIOCore
import ProxyTestKit
import Substitution
import Testing

@testable import ForwardProxy

@Suite("The access log")
struct AccessLogTests {
    /// An exchange, and its line but for the time that it begins with.
    struct Example: CustomTestStringConvertible, Sendable {
        var record: ExchangeRecord
        var client = "127.0.0.1"
        var duration: UInt64 = 0
        /// What of the text stands behind the time, without the line's end.
        let text: String
        /// What of the JSON stands behind the time.
        let json: String

        var testDescription: String { text }

        init(
            _ method: String, _ url: [UInt8], status: Int, bytes: Int, rule: String = "m.yaml:2", reason: String = "",
            outcome: Outcome = .substituted, isMapped: Bool = true, client: String = "127.0.0.1", duration: UInt64 = 0,
            text: String, json: String
        ) {
            record = ExchangeRecord(startedAt: 0, method: ByteBuffer(string: method), url: ByteBuffer(bytes: url))
            record.status = status
            record.bodyBytes = bytes
            record.rule = rule
            record.reason = reason
            record.outcome = outcome
            record.isMapped = isMapped
            self.client = client
            self.duration = duration
            self.text = text
            self.json = json
        }
    }

    static let examples: [Example] = [
        Example(
            "GET", Array("http://m.test/a?b=c".utf8), status: 200, bytes: 4096, duration: 49_999,
            text: "GET http://m.test/a?b=c 200 4.0kB 0.0ms substituted m.yaml:2",
            json: #""client":"127.0.0.1","method":"GET","url":"http://m.test/a?b=c","status":200,"bytes":4096,"#
                + #""duration_ms":0.049,"outcome":"substituted","rule":"m.yaml:2","reason":null}"#),
        Example(
            "GET", Array("http://m.test/a".utf8), status: 304, bytes: 0, client: "2001:db8::1:2:3:4",
            duration: 1_999_999,
            text: "GET http://m.test/a 304 0B 1.9ms substituted m.yaml:2",
            json: #""client":"2001:db8::1:2:3:4","method":"GET","url":"http://m.test/a","status":304,"bytes":0,"#
                + #""duration_ms":1.999,"outcome":"substituted","rule":"m.yaml:2","reason":null}"#),
        Example(
            "HEAD", Array("http://m.test/\"\\\u{1b}[1m\u{7f}é".utf8), status: 404, bytes: 1_234_567,
            rule: "a \"b\".yaml:12", client: "::\"1", duration: 12_345_678_900,
            text: #"HEAD http://m.test/\"\\\x1b[1m\x7fé 404 1.2MB 12345.6ms substituted a \"b\".yaml:12"#,
            json: #""client":"::\"1","method":"HEAD","url":"http://m.test/\"\\\u001b[1m\u007fé","status":404,"#
                + #""bytes":1234567,"duration_ms":12345.678,"outcome":"substituted","rule":"a \"b\".yaml:12","#
                + #""reason":null}"#),
        Example(
            "GET", Array("http://m.test/\u{9b}2J\u{a0}\u{2028}\u{202e}\u{2069}\u{206a}€".utf8), status: 200, bytes: 0,
            rule: "",
            text:
                "GET http://m.test/\\xc2\\x9b2J\u{a0}\\xe2\\x80\\xa8\\xe2\\x80\\xae\\xe2\\x81\\xa9\u{206a}€ 200 0B 0.0ms substituted",
            json:
                #""client":"127.0.0.1","method":"GET","url":"http://m.test/\u009b2J\#u{a0}\u2028\u202e\u2069\#u{206a}€","#
                + #""status":200,"bytes":0,"duration_ms":0.000,"outcome":"substituted","rule":null,"reason":null}"#),
        Example(
            "GET", Array("http://m.test/".utf8) + [0xff, 0xc3, 0xa9], status: 200, bytes: 3_200_000_000, rule: "",
            text: #"GET http://m.test/\xff\xc3\xa9 200 3.2GB 0.0ms substituted"#,
            json: #""client":"127.0.0.1","method":"GET","url":"http://m.test/\u00ff\u00c3\u00a9","status":200,"#
                + #""bytes":3200000000,"duration_ms":0.000,"outcome":"substituted","rule":null,"reason":null}"#),
        Example(
            "-", Array("http://me:secret@m.test/?a=secret&secret".utf8), status: 0, bytes: -1, rule: "",
            reason: "no \"host\"\n", outcome: .failed, isMapped: false, duration: 999,
            text: #"- http://m.test/?a=*&* 0 0B 0.0ms failed (no \"host\"\x0a)"#,
            json: #""client":"127.0.0.1","method":"-","url":"http://m.test/?a=*&*","status":0,"bytes":0,"#
                + #""duration_ms":0.000,"outcome":"failed","rule":null,"reason":"no \"host\"\u000a"}"#),
    ]

    /// 2026-11-21T14:02:11Z, in nanoseconds since 1970.
    static let wall: UInt64 = 1_795_269_731_000_000_000

    /// What is written to a log in a file.
    private func written(
        _ format: LogFormat, showsQueryValues: Bool = false, _ body: (AccessLog) throws -> Void
    ) throws -> String {
        let path = FileManager.default.temporaryDirectory.appending(path: "log-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let sink = try LogSink(.file(path))
        let log = AccessLog(sink: sink, format: format, showsQueryValues: showsQueryValues)
        try body(log)
        log.flush()
        sink.close(waitingAtMost: 10)
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    /// The text of a time as lines begin with it.
    private func localTime(_ wall: UInt64) -> String {
        var seconds = time_t(wall / 1_000_000_000)
        var time = tm()
        localtime_r(&seconds, &time)
        func padded(_ number: UInt64, _ width: Int) -> String {
            String(repeating: "0", count: width - String(number).count) + String(number)
        }
        return [time.tm_hour, time.tm_min, time.tm_sec].map { padded(UInt64($0), 2) }.joined(separator: ":")
            + ".\(padded(wall / 1_000_000 % 1000, 3))"
    }

    @Test("A line is the same whether it is made from a record or from its parts", arguments: examples)
    func parts(_ example: Example) throws {
        let wall = AccessLogTests.wall + 7_654_321
        let text = "\(localTime(wall)) \(example.text)\n"
        let json = #"{"time":"2026-11-21T14:02:11.007Z",\#(example.json)"# + "\n"
        for (format, line) in [(LogFormat.text, text), (.json, json)] {
            let lines = try written(format) { log in
                let parts = log.parts(of: example.record)
                log.write(example.record, client: example.client, duration: example.duration, wall: wall)
                log.write(parts, client: example.client, duration: example.duration, wall: wall)
                log.write(parts, client: example.client, duration: example.duration, wall: wall)
            }
            #expect(lines == line + line + line)
        }
    }

    @Test(
        "What may be a name and a password in a target that is no URL is not logged",
        arguments: [
            ("http://alice:pa/55@host.test/", "http://host.test/"), ("http//alice:pa55@host.test/", "http//host.test/"),
            ("//alice:pa55@host.test/", "//host.test/"), ("alice:pa55@host.test:443", "host.test:443"),
            ("http:/alice:pa55@host.test//x", "host.test//x"), ("http://alice:pa?55@host.test/", "http://host.test/"),
            ("http://alice:p#a@55@host.test/", "http://host.test/"), ("http://alice:pa//55@", "http://"),
            ("/@alice/x@2", "/@alice/x@2"), ("@", ""), ("http://host.test", "http://host.test"),
        ])
    func userInformation(_ target: String, _ shown: String) throws {
        let record = ExchangeRecord(
            startedAt: 0, method: ByteBuffer(string: "GET"), url: ByteBuffer(string: target))
        let line = try written(.text, showsQueryValues: true) {
            $0.write(record, client: "127.0.0.1", duration: 0, wall: AccessLogTests.wall)
        }
        #expect(line.contains(" GET \(shown) 0 "), "\(line)")
    }

    @Test("Each line has its own time, also where the clock is set back")
    func times() throws {
        let record = AccessLogTests.examples[0].record
        let walls: [UInt64] = [
            0, 1_000_000, 1_999_999, 12_000_000, 999_999_999, 1_000_000_000, 59_999_000_000, 60_001_000_000,
            60_000_999_999,
            1_000_000,
        ].map { AccessLogTests.wall + $0 }
        let json = try written(.json) { log in
            for wall in walls { log.write(record, client: "-", duration: 0, wall: wall) }
        }
        let times = json.matches(of: /"time":"2026-11-21T(.*?)Z"/).map { String($0.1) }
        #expect(
            times == [
                "14:02:11.000", "14:02:11.001", "14:02:11.001", "14:02:11.012", "14:02:11.999", "14:02:12.000",
                "14:03:10.999", "14:03:11.001", "14:03:11.000", "14:02:11.001",
            ])
        let text = try written(.text) { log in
            for wall in walls { log.write(record, client: "-", duration: 0, wall: wall) }
        }
        #expect(text.split(separator: "\n").map { String($0.prefix(12)) } == walls.map(localTime))
    }

    @Test("All lines come in their order, however many and however long they are")
    func order() throws {
        let lengths = (0..<3000).map { $0 % 1000 == 999 ? 70_000 : $0 % 100 }
        let text = try written(.text) { log in
            for (index, length) in lengths.enumerated() {
                let url = "http://m.test/\(index)/" + String(repeating: "u", count: length)
                var record = ExchangeRecord(
                    startedAt: 0, method: ByteBuffer(string: "GET"), url: ByteBuffer(string: url))
                record.status = 200
                if index.isMultiple(of: 2) {
                    log.write(record, client: "-", duration: 0, wall: AccessLogTests.wall)
                } else {
                    log.write(log.parts(of: record), client: "-", duration: 0, wall: AccessLogTests.wall)
                }
            }
        }
        let urls = text.split(separator: "\n").map { $0.split(separator: " ")[2] }
        #expect(urls.map { $0.split(separator: "/")[2] } == (0..<3000).map { "\($0)" })
        #expect(urls.map { $0.filter { $0 == "u" }.count } == lengths)
    }

    @Test("A flush is asked for once, and anew when it was done")
    func flushes() throws {
        let record = AccessLogTests.examples[0].record
        var asked = 0
        _ = try written(.text) { log in
            log.needsFlush = { asked += 1 }
            func add() { log.write(record, client: "-", duration: 0, wall: AccessLogTests.wall) }
            for _ in 0..<2000 { add() }
            log.flush()
            add()
            #expect(asked == 1)
            log.flushDue()
            #expect(asked == 1)
            add()
            add()
            #expect(asked == 2)
        }
    }

    /// The lines of a log without what is each time another.
    private func masked(_ log: String) -> [String] {
        log.split(separator: "\n").map {
            String($0).replacing(#/^[0-9:.]+ /#, with: "").replacing(#/ [0-9.]+ms /#, with: " ")
                .replacing(/"time":"[^"]*",/, with: "").replacing(/"duration_ms":[0-9.]+,/, with: "")
        }
    }

    @Test("The lines of a target that is known say what the first one says", arguments: LogFormat.allCases)
    func known(_ format: LogFormat) throws {
        let proxy = try TestProxy("substitutions:\n  http://m.test/t?x='1': { text: common }\n") {
            $0.logFormat = format
        }
        let get = " http://M.test/./t?x='1' HTTP/1.1\r\nHost: m.test\r\n"
        func ask(_ requests: [String]) throws -> TestResponse {
            let socket = try proxy.connect()
            try socket.send(requests.map { "\($0)\r\n" }.joined() + "GET\(get)Connection: close\r\n\r\n")
            return TestResponse(try socket.receiveAll())
        }
        let tag = "If-None-Match: \(try #require(try ask([]).field("ETag")))\r\n"
        let round = ["HEAD\(get)", "GET\(get)", "GET\(get)\(tag)"]
        _ = try ask(round + round + round + round)
        let lines = masked(try proxy.stopAndReadLog())
        #expect(lines.count == 14)
        #expect(lines.first == lines.last)
        for (offset, part) in ["HEAD", "GET", "304"].enumerated() {
            let same = stride(from: 1 + offset, to: 13, by: 3).map { lines[$0] }
            #expect(Set(same).count == 1)
            #expect(same[0].contains(part) && same[0].contains("http://m.test/t?x='1'") && same[0].contains("m.yaml:2"))
        }
    }

    @Test("A map that is reloaded changes the rule's place in the lines of a target that was known")
    func reload() throws {
        let rule = "  http://m.test/t: { text: common }\n"
        let proxy = try TestProxy("substitutions:\n\(rule)")
        let socket = try proxy.connect()
        func ask() throws {
            try socket.send(String(repeating: "GET http://m.test/t HTTP/1.1\r\nHost: m.test\r\n\r\n", count: 5))
            for _ in 0..<5 { _ = try socket.receive(until: "common") }
        }
        try ask()
        let text = "substitutions:\n  http://m.test/other: { text: other }\n\(rule)"
        proxy.server.adopt(try #require(SubstitutionMap.load(text: text, name: "m.yaml").map))
        try ask()
        let lines = masked(try proxy.stopAndReadLog())
        #expect(
            lines
                == [2, 3].flatMap { line in
                    [String](repeating: "GET http://m.test/t 200 6B substituted m.yaml:\(line)", count: 5)
                })
    }
}
