import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// What `/metrics` says of limits that are small enough to be reached.
    @Suite("Values of metrics")
    struct MetricValues {
        /// The values of all series, by name and labels, as one connection asks for them.
        private static func scrape(_ client: Socket, _ port: UInt16) throws -> [String: Double] {
            try client.send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
            var values: [String: Double] = [:]
            for line in try client.receiveResponse().text.split(separator: "\n") where !line.hasPrefix("#") {
                guard let space = line.lastIndex(of: " ") else { continue }
                values[String(line[..<space])] = Double(line[line.index(after: space)...])
            }
            return values
        }

        @Test("Memory, evictions, connections, rules and the version are those of the limits that are set")
        func limits() throws {
            let origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                try connection.respond(
                    fields: "Cache-Control: max-age=600\r\n", body: String(repeating: "o", count: 100_000))
                return true
            }
            let count = 20
            let text = String(repeating: "f", count: 10_000)
            let served = try ServedMap(
                "http://mapped.test/x: { text: x }\nhttp://mapped.test/: ./",
                files: Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0).txt", text) }),
                options: [
                    "--threads", "1", "--retain-memory", "64KiB", "--cache-memory", "1MiB", "--max-connections", "3",
                ])
            let binary = served.binary
            let asking = try binary.connect()
            let client = try binary.connect()
            var values: [String: Double] = [:]
            func value(_ name: String) -> Int { values["subproxy_\(name)"].map { Int($0) } ?? -1 }
            func ask(_ url: String) throws -> Int {
                try client.sendRequest("GET", url)
                return try client.receiveResponse().body.count
            }

            #expect(
                try Wait.holds {
                    values = try Self.scrape(asking, binary.port)
                    return value("connections_accepted_total") == 2
                })
            for name in ["files", "bytes", "evictions_total", "loads_total"] { #expect(value("retained_\(name)") == 0) }
            for name in ["responses", "bytes", "evictions_total"] { #expect(value("stored_\(name)") == 0) }
            #expect(value("retained_bytes_max") == 65536)
            #expect(value("stored_bytes_max") == mebibyte)
            #expect(value("connections_max") == 3)
            #expect(value("connections_refused_total") == 0)
            #expect(value("map_rules") == 2)
            let version = try ChildProcess.run([RunningBinary.path, "--version"]).output
                .split(whereSeparator: \.isWhitespace).last
            #expect(values["subproxy_build_info{version=\"\(version ?? "")\"}"] == 1)

            // One file is read once, however often it is asked for, unless it was just written.
            served.folder.age()
            for _ in 0..<5 { #expect(try ask("http://mapped.test/0.txt") == text.utf8.count) }
            values = try Self.scrape(asking, binary.port)
            #expect(value("retained_files") == 1)
            #expect(value("retained_loads_total") == 1)
            #expect((text.utf8.count...2 * text.utf8.count).contains(value("retained_bytes")))
            // Of all of them there is room for a few.
            for number in 1..<count { #expect(try ask("http://mapped.test/\(number).txt") == text.utf8.count) }
            values = try Self.scrape(asking, binary.port)
            #expect(value("retained_loads_total") == count)
            #expect((1...6).contains(value("retained_files")))
            #expect(value("retained_files") + value("retained_evictions_total") == count)
            #expect((value("retained_files") * text.utf8.count...65536).contains(value("retained_bytes")))

            // The same for what an origin allows to be stored.
            for number in 0..<count { #expect(try ask("http://127.0.0.1:\(origin.port)/\(number)") == 100_000) }
            values = try Self.scrape(asking, binary.port)
            #expect((1...10).contains(value("stored_responses")))
            #expect(value("stored_responses") + value("stored_evictions_total") == count)
            #expect((value("stored_responses") * 100_000...mebibyte).contains(value("stored_bytes")))

            // The third connection is the last one that there is room for.
            let third = try binary.connect()
            #expect(
                try Wait.holds {
                    values = try Self.scrape(asking, binary.port)
                    return value("connections_accepted_total") == 3
                })
            for number in 1...4 {
                let further = try binary.connect()
                #expect(Wait.holds { further.hasEnded })
                values = try Self.scrape(asking, binary.port)
                #expect(value("connections_refused_total") == number)
            }
            // Each of those was accepted before it was closed.
            #expect(value("connections_accepted_total") == 7)
            third.close()
            #expect(Wait.holds { (try? binary.get("http://mapped.test/x").text) == "x" })

            let path = try served.folder.write(
                "new.yaml", ServedMap.text((0..<7).map { "http://h\($0).test/: { text: x }" }.joined(separator: "\n")))
            #expect(rename(path, served.mapPath) == 0)
            #expect(
                try Wait.holds {
                    values = try Self.scrape(asking, binary.port)
                    // The map is in force a moment before its reload is counted.
                    return value("map_rules") == 7
                        && value("reloads_total{subject=\"map\",result=\"success\"}") >= 1
                })
        }

        @Test("However many URLs, hosts and methods are asked for, the series stay the same")
        func series() throws {
            let origin = try ScriptedOrigin(fields: "Cache-Control: max-age=60\r\n", body: "found")
            let served = try ServedMap("http://*.mapped.test/*: { text: x }")
            let binary = served.binary
            let asking = try binary.connect()
            let before = try Self.scrape(asking, binary.port)
            #expect(before.count > 100)
            let client = try binary.connect()
            func status(_ method: String, _ url: String, _ fields: [String] = []) throws -> Int {
                try client.sendRequest(method, url, fields: fields)
                return try client.receiveResponse(to: method).status
            }
            for number in 0..<150 {
                let agent = ["User-Agent: agent-\(number)", "Referer: http://referer-\(number).test/"]
                #expect(try status("GET", "http://h\(number).mapped.test/\(number)", agent) == 200)
                #expect(try status("GET", "http://127.0.0.1:\(origin.port)/\(number)?q=\(number)", agent) == 200)
                #expect(try status("M\(number)", "http://127.0.0.1:\(origin.port)/\(number)") == 200)
                // Another host each time, where nobody listens.
                #expect(try status("GET", "http://127.0.1.\(number):\(origin.port)/") == 502)
                let tunnel = try binary.connect()
                try tunnel.send("CONNECT h\(number).test:\(1000 + number) HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try tunnel.receiveResponse().status == 403)
            }
            let after = try Self.scrape(asking, binary.port)
            #expect(Set(after.keys) == Set(before.keys))
            func grown(_ outcome: String, _ statuses: String) -> Double {
                let series = "subproxy_exchanges_total{outcome=\"\(outcome)\",class=\"\(statuses)\"}"
                return (after[series] ?? 0) - (before[series] ?? 0)
            }
            #expect(grown("substituted", "2xx") >= 150)
            #expect(grown("forwarded", "2xx") == 300)
            #expect(grown("failed", "5xx") == 150)
            #expect(grown("refused", "4xx") == 150)
        }
    }
}
