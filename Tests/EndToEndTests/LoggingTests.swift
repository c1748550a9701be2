import Foundation
import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// The access log: the examples of the documentation, and logs that can't be written.
    @Suite("Logs")
    struct Logs {
        /// An origin with a list that may be stored for a minute.
        private func listOrigin() throws -> ScriptedOrigin {
            try ScriptedOrigin { request, connection in
                let request = try connection.readBody(of: request)
                let fields = "ETag: \"1\"\r\nCache-Control: max-age=60\r\n"
                if request.field("If-None-Match") == "\"1\"" {
                    try connection.socket.send("HTTP/1.1 304 Not Modified\r\n\(fields)\r\n")
                } else {
                    try connection.respond(fields: fields, body: String(repeating: "l", count: 812))
                }
                return true
            }
        }

        /// What the documentation's examples come from.
        private func serve(_ format: String, _ body: (RunningBinary) throws -> Void) throws -> [String] {
            let origin = try listOrigin()
            let echo = try RawOrigin.echo()
            let served = try ServedMap(
                "http://images.example.com:\(origin.port)/nav.png: nav.png",
                files: ["nav.png": String(repeating: "p", count: 2000)],
                options: [
                    "--threads", "1", "--log-format", format, "--resolve",
                    "images.example.com:\(origin.port):127.0.0.1", "--resolve",
                    "api.example.com:\(origin.port):127.0.0.1", "--resolve", "bank.example.com:\(echo.port):127.0.0.1",
                ], tunnelsTo: echo.port,
                // Where names are asked of nobody who answers, the first try ends before the connection's limit.
                wrapper: ["env", "RES_OPTIONS=timeout:1 attempts:1"])
            let binary = served.binary
            let image = "http://images.example.com:\(origin.port)/nav.png"
            let list = "http://api.example.com:\(origin.port)/list?page=7"
            let tag = try #require(try binary.get(image).field("ETag"))
            #expect(try binary.get(image, fields: ["If-None-Match: \(tag)"]).status == 304)
            #expect(try binary.get(image, fields: ["Cache-Control: no-cache"]).body.count == 812)
            #expect(try binary.get(list).status == 200)
            #expect(try binary.get(list).status == 200)
            #expect(try binary.get(list, fields: ["Cache-Control: max-age=0"]).status == 200)
            let tunnel = try binary.connect()
            try tunnel.send("CONNECT bank.example.com:\(echo.port) HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try tunnel.receiveResponseHead().status == 200)
            try tunnel.send("hello")
            #expect(try tunnel.receive(exactly: 5) == Array("hello".utf8))
            tunnel.close()
            func lines() -> [String] { binary.log.split(separator: "\n").map(String.init) }
            #expect(Wait.holds { lines().count == 7 })
            let refused = try binary.connect()
            try refused.send("CONNECT mail.example.com:25 HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try refused.receiveResponse().status == 403)
            #expect(try binary.get("http://unknown.invalid/?token=secret", fields: ["Cookie: c=secret"]).status == 502)
            #expect(try Metrics.own(binary, "/healthz").status == 200)
            #expect(Wait.holds { lines().count == 10 })
            try body(binary)
            return lines().map {
                $0.replacing(":\(origin.port)", with: "").replacing(":\(echo.port)", with: ":443")
                    .replacing("m.yaml", with: "substitutions.yaml")
            }
        }

        /// The lines of the examples in a language that the documentation has in a section.
        private func examples(_ language: String) throws -> [String] {
            let page = try String(contentsOfFile: "\(Metrics.documents)/logging.md", encoding: .utf8)
            let part = page.split(separator: "\n## ").first { $0.hasPrefix("Access log") } ?? ""
            let blocks = part.split(separator: "```", omittingEmptySubsequences: false)
            let block = blocks.first { $0.hasPrefix(language + "\n") } ?? ""
            return block.split(separator: "\n").dropFirst().map(String.init)
        }

        /// A line without what differs from one run to the next: times, and the sizes of texts that have a port in
        /// them.
        private func masked(_ line: String) -> String {
            var words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            guard words.count > 6 else { return line }
            func digits(_ text: String) -> String {
                String(
                    text.map { $0.isNumber ? "0" : $0 }.reduce(into: "") { text, next in
                        if !(next == "0" && text.last == "0") { text.append(next) }
                    })
            }
            words[0] = words[0].map { $0.isNumber ? "0" : String($0) }.joined()
            words[5] = digits(words[5])
            if words[6] == "refused" || words[6] == "failed" { words[4] = digits(words[4]) }
            return words.joined(separator: " ")
        }

        @Test("The documentation's lines are those that such exchanges make")
        func textExamples() throws {
            let lines = try serve("text") { binary in
                for secret in ["secret", "c="] { #expect(!binary.log.contains(secret)) }
            }
            let documented = try examples("text")
            #expect(documented.count == 10)
            #expect(lines.map(masked) == documented.map(masked))
        }

        @Test("The documentation's JSON lines are those that such exchanges make, members in their order")
        func jsonExamples() throws {
            let lines = try serve("json") { _ in }
            let documented = try examples("json")
            #expect(documented.count == 2)
            func maskedJSON(_ line: String) throws -> String {
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
                var members = try #require(object as? [String: Any])
                let time = try #require(members["time"] as? String)
                #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
                #expect(members["duration_ms"] is Double)
                members["time"] = nil
                members["duration_ms"] = nil
                if members["outcome"] as? String == "failed" { members["bytes"] = nil }
                let names = line.matches(of: /[{,]"([a-z_]+)":/).map { String($0.1) }
                return try "\(names) "
                    + String(
                        decoding: JSONSerialization.data(withJSONObject: members, options: .sortedKeys), as: UTF8.self)
            }
            #expect(try documented.map(maskedJSON) == [maskedJSON(lines[0]), maskedJSON(lines[8])])
        }

        /// Asks until the metrics show that lines were dropped.
        private func waitForDrops(_ binary: RunningBinary) throws {
            let series = #"subproxy_log_lines_dropped_total{log="access"}"#
            let areCounted = try Wait.holds {
                let response = try binary.get("http://mapped.test/x")
                #expect(response.text == "x")
                return try Metrics.value(series, binary) ?? 0 > 0
            }
            #expect(areCounted)
            #expect(
                Wait.holds {
                    binary.process.error.contains("subproxy: warning: the access log can't be written")
                })
        }

        @Test("With its log on a full disk the proxy serves, counts what is lost, and says so once")
        func fullDisk() throws {
            let served = try ServedMap(options: ["--log-file", "/dev/full"])
            try waitForDrops(served.binary)
            for _ in 0..<100 { #expect(try served.binary.get("http://mapped.test/x").text == "x") }
            #expect(
                Wait.holds {
                    ((try? Metrics.value(#"subproxy_log_lines_dropped_total{log="access"}"#, served.binary)) ?? nil)
                        ?? 0 > 100
                })
            func warnings() -> Int {
                served.binary.process.error.split(separator: "\n").count { $0.contains("access log") }
            }
            #expect(Wait.holds { warnings() > 0 })
            #expect(warnings() == 1)
        }

        @Test("A pipe that nobody reads holds nothing up")
        func blockedPipe() throws {
            let served = try ServedMap()
            let pipe = "\(served.folder.path)/pipe"
            #expect(mkfifo(pipe, 0o600) == 0)
            // Opened for both, so that it is never without a reader.
            let end = open(pipe, O_RDWR | O_CLOEXEC)
            defer { close(end) }
            let binary = try RunningBinary(map: served.mapPath, ["--log-file", pipe])
            // A line of 8 KiB each: the pipe takes 64 KiB, the proxy keeps 4 MiB.
            let url = "http://mapped.test/" + String(repeating: "y", count: 8000)
            let client = try binary.connect()
            for _ in 0..<700 {
                try client.send("GET \(url) HTTP/1.1\r\nHost: x\r\nCache-Control: only-if-cached\r\n\r\n")
                #expect(try client.receiveResponse().status == 504)
            }
            try waitForDrops(binary)
        }

        @Test("A response that the proxy cuts off is not said to be the client's doing", arguments: [true, false])
        func cutByProxy(isStopped: Bool) throws {
            let origin = try ScriptedOrigin { _, connection in
                try connection.socket.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nbegin")
                while try !connection.socket.receive().isEmpty {}
                return false
            }
            let served = try ServedMap(options: ["--shutdown-grace", "100ms"])
            let client = try served.binary.connect()
            let url = "http://127.0.0.1:\(origin.port)/"
            try client.send("POST \(url) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
            #expect(try client.receiveResponseHead().status == 200)
            if isStopped { served.binary.process.send(SIGTERM) } else { try client.send("no chunk\r\n") }
            let end = isStopped ? " failed (the proxy stopped)" : " refused ("
            #expect(Wait.holds { served.binary.log.contains(end) }, "\(served.binary.log)")
            #expect(!served.binary.log.contains("client closed"), "\(served.binary.log)")
        }

        @Test("A pipe without a reader is no log, and said to be none; where the reader goes, lines are lost")
        func unreadPipe() throws {
            let served = try ServedMap()
            let pipe = "\(served.folder.path)/pipe"
            #expect(mkfifo(pipe, 0o600) == 0)
            let refused = try SubproxyProcess.run(["--map", served.mapPath, "--log-file", pipe])
            #expect(refused.status == 73)
            #expect(refused.error == "subproxy: error: can't open the log file '\(pipe)': nobody reads the pipe\n")
            let end = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            let binary = try RunningBinary(map: served.mapPath, ["--log-file", pipe])
            #expect(try binary.get("http://mapped.test/x").text == "x")
            var line = [UInt8](repeating: 0, count: 4096)
            #expect(Wait.holds { read(end, &line, line.count) > 0 })
            close(end)
            binary.process.send(SIGHUP)
            try waitForDrops(binary)
            binary.process.send(SIGTERM)
            #expect(try binary.process.finish() == 0)
        }

        @Test("After a line that could be written in part the next one is a line of its own")
        func partOfALine() throws {
            let folder = TemporaryFolder()
            let path = "\(folder.path)/log"
            // A file that may not grow beyond 512 bytes is like one on a disk that is full for a while.
            let served = try ServedMap(
                options: ["--log-file", path],
                wrapper: ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh", "prlimit", "--fsize=512:unlimited"])
            let binary = served.binary
            try waitForDrops(binary)
            let size = try String(contentsOfFile: path, encoding: .utf8).utf8.count
            #expect(size == 512)
            let lift = try ChildProcess.run([
                "prlimit", "--pid", "\(binary.process.identifier)", "--fsize=unlimited:unlimited",
            ])
            try #require(lift.status == 0, "\(lift.error)")
            #expect(
                try binary.get("http://mapped.test/x?last=1", fields: ["Cache-Control: only-if-cached"]).status == 504)
            func text() -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
            #expect(Wait.holds { text().contains("/x?last=") && text().hasSuffix("\n") })
            let bytes = Array(text().utf8)
            // Unless the last line that fitted came to its end there.
            #expect((bytes[size - 1] == 0x0a) != (bytes[size] == 0x0a))
            let later = String(decoding: bytes[size...], as: UTF8.self).split(separator: "\n")
            // Among them may be those of the last requests for drops, which may have been written only now.
            for line in later {
                let isWhole =
                    line.wholeMatch(
                        of: /\d\d:\d\d:\d\d\.\d{3} GET .* \d{3} [0-9.]+k?B [0-9.]+ms (substituted|own|failed).*/)
                    != nil
                #expect(isWhole, "\(line)")
            }
        }
    }
}
