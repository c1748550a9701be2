import Foundation
import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// `/metrics` and `/healthz` as Prometheus and a load balancer ask for them.
    @Suite("Metrics")
    struct Metrics {
        static let documents = "\(EndToEnd.folder)/../../docs"

        /// Asks the proxy's own site, on a connection of its own or on one that is there.
        static func own(
            _ binary: RunningBinary, _ path: String, method: String = "GET", on connection: Socket? = nil
        ) throws -> ProxyResponse {
            let client = try connection ?? binary.connect()
            try client.send("\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(binary.port)\r\n\r\n")
            return try client.receiveResponse(to: method)
        }

        /// The value of a series, by its line's beginning.
        static func value(_ series: String, _ binary: RunningBinary, on connection: Socket? = nil) throws -> Double? {
            let text = try own(binary, "/metrics", on: connection).text
            let line = text.split(separator: "\n").first { $0.hasPrefix(series + " ") }
            return line.flatMap { Double($0.dropFirst(series.utf8.count + 1)) }
        }

        @Test("Scrapes are well formed, no counter falls, and dashboard and documentation name what there is")
        func scrapes() async throws {
            let origin = try ScriptedOrigin(fields: "Cache-Control: max-age=60\r\n", body: "found")
            let echo = try RawOrigin.echo()
            let users = TemporaryFolder()
            try users.write("users", "ann:\(Authentication.annHash)\n")
            let began = Date.now.timeIntervalSince1970
            let served = try ServedMap(
                options: ["--threads", "2", "--auth", "\(users.path)/users"], tunnelsTo: echo.port)
            let binary = served.binary
            let credentials = "Proxy-Authorization: \(Authentication.basic("ann:secret"))"
            let scrapes = try (0..<3).map { round in
                if round > 0 {
                    _ = try atOnceInTurn(binary, origin.port, credentials)
                    let client = try binary.connect()
                    try client.send(
                        "CONNECT 127.0.0.1:\(echo.port) HTTP/1.1\r\nHost: x\r\n\(credentials)\r\n\r\n")
                    #expect(try client.receiveResponseHead().status == 200)
                    try client.send("hello")
                    #expect(try client.receive(exactly: 5) == Array("hello".utf8))
                    client.close()
                }
                let response = try Metrics.own(binary, "/metrics")
                #expect(response.status == 200)
                #expect(response.field("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
                return try users.write("scrape\(round)", response.text)
            }
            let check = try ChildProcess.run(
                ["python3", "-B", "\(EndToEnd.scripts)/exposition.py"] + scrapes + [
                    "--dashboard", "\(Metrics.documents)/grafana/subproxy.json", "--names",
                    "\(Metrics.documents)/logging.md",
                ])
            #expect(check.status == 0, "\(check.output)\(check.error)")
            let expected: [(String, Double)] = [
                (#"subproxy_exchanges_total{outcome="substituted",class="2xx"}"#, 20),
                (#"subproxy_exchanges_total{outcome="forwarded",class="2xx"}"#, 1),
                (#"subproxy_exchanges_total{outcome="stored",class="2xx"}"#, 1),
                (#"subproxy_exchanges_total{outcome="refused",class="4xx"}"#, 2),
                (#"subproxy_exchange_duration_seconds_count{outcome="substituted"}"#, 20),
                (#"subproxy_response_body_bytes_total{outcome="tunnelled"}"#, 5),
                ("subproxy_request_body_bytes_total", 7), ("subproxy_stored_responses", 1),
                (#"subproxy_authentications_total{result="known"}"#, 1), ("process_open_fds", 8),
                ("process_resident_memory_bytes", 1_000_000), ("subproxy_connections_accepted_total", 10),
            ]
            for (series, least) in expected {
                #expect(Wait.holds { (try? Metrics.value(series, binary) ?? 0) ?? 0 >= least }, "\(series)")
            }
            let started = try #require(try Metrics.value("process_start_time_seconds", binary))
            // The kernel's clock may be another by some seconds.
            #expect((began - 120...Date.now.timeIntervalSince1970 + 120).contains(started))
        }

        /// Exchanges of several kinds.
        private func atOnceInTurn(_ binary: RunningBinary, _ port: UInt16, _ credentials: String) throws {
            for _ in 0..<10 {
                #expect(try binary.get("http://mapped.test/x", fields: [credentials]).text == "x")
                #expect(try binary.get("http://127.0.0.1:\(port)/", fields: [credentials]).text == "found")
            }
            let client = try binary.connect()
            try client.sendRequest("POST", "http://127.0.0.1:\(port)/other", fields: [credentials], body: "content")
            #expect(try client.receiveResponse().status == 200)
            #expect(try binary.get("http://mapped.test/x").status == 407)
        }

        @Test("Prometheus's own client for Python reads every sample of a scrape")
        func prometheusClient() throws {
            let served = try ServedMap()
            #expect(try served.binary.get("http://mapped.test/x").text == "x")
            let folder = TemporaryFolder()
            let path = try folder.write("scrape", try Metrics.own(served.binary, "/metrics").text)
            let script = """
                import sys, prometheus_client.parser as parser
                families = parser.text_string_to_metric_families(open(sys.argv[1]).read())
                print(sum(len(family.samples) for family in families))
                """
            // Of Debian's python3-prometheus-client, which another Python in PATH would not find.
            let check = try ChildProcess.run(["/usr/bin/python3", "-c", script, path])
            let samples = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
                .count { !$0.hasPrefix("#") }
            #expect(check.output == "\(samples)\n", "\(check.error)")
        }

        @Test("Connections and transfers are shown by what they are at, and are gone when they are over")
        func states() throws {
            let asked = Counter()
            let origin = try ScriptedOrigin { request, connection in
                if request.target == "/silent" {
                    asked.add()
                    _ = try? connection.socket.receive()
                    return false
                }
                try connection.socket.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
                _ = try? connection.socket.receive()
                return false
            }
            let echo = try RawOrigin.echo()
            let served = try ServedMap(tunnelsTo: echo.port)
            let binary = served.binary
            let idle = try binary.connect()
            try idle.sendRequest("GET", "http://mapped.test/x")
            #expect(try idle.receiveResponse().text == "x")
            let waiting = try (0..<2).map { _ in try binary.connect() }
            for client in waiting { try client.sendRequest("POST", "http://127.0.0.1:\(origin.port)/silent") }
            let receiving = try binary.connect()
            try receiving.sendRequest("GET", "http://127.0.0.1:\(origin.port)/part")
            _ = try receiving.receive(until: "12345")
            let tunnel = try binary.tunnel(to: echo.port)
            #expect(Wait.holds { asked.value == 2 })
            // One connection asks for all: it is active too.
            let asking = try binary.connect()
            var seen = ""
            func holds(_ states: String) throws -> Bool {
                try Wait.holds {
                    try asking.send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:\(binary.port)\r\n\r\n")
                    let lines = try asking.receiveResponse().text.split(separator: "\n")
                    let found = lines.filter {
                        $0.hasPrefix("subproxy_connections{") || $0.hasPrefix("subproxy_transfers{")
                    }
                    seen = found.map { $0.split(separator: "\"").dropFirst().joined() }.joined(separator: ",")
                    return seen == states
                }
            }
            let states = "idle} 1,active} 4,tunnel} 1,handshake} 0,closing} 0,connecting} 0,waiting} 2,receiving} 1"
            #expect(try holds(states), "\(seen)")
            receiving.reset()
            for client in waiting + [idle, tunnel] { client.close() }
            let end = "idle} 0,active} 1,tunnel} 0,handshake} 0,closing} 0,connecting} 0,waiting} 0,receiving} 0"
            #expect(try holds(end), "\(seen)")
        }

        @Test("Reloads count, and those that failed for themselves")
        func reloads() throws {
            let served = try ServedMap()
            let binary = served.binary
            func count(_ result: String) throws -> Double? {
                try Metrics.value("subproxy_reloads_total{subject=\"map\",result=\"\(result)\"}", binary)
            }
            #expect(try count("success") == 0)
            binary.process.send(SIGHUP)
            #expect(Wait.holds { (try? count("success")) == 1 })
            // In one step: an empty map would be another failure.
            try served.folder.write("new.yaml", "substitutions: 1\n")
            try #require(rename(served.folder.at("new.yaml"), served.mapPath) == 0)
            #expect(Wait.holds { (try? count("failure")) == 1 })
            #expect(try count("success") == 1)
        }

        @Test("A stopped process shows in the lag of its event loops")
        func lag() throws {
            let served = try ServedMap(options: ["--threads", "1"])
            let binary = served.binary
            let series = #"subproxy_event_loop_lag_seconds{loop="0"}"#
            let kept = try binary.connect()
            let before = try #require(try Metrics.value(series, binary))
            try binary.process.suspend()
            usleep(UInt32((before + 1.5) * 1e6))
            binary.process.send(SIGCONT)
            #expect(Wait.holds { ((try? Metrics.value(series, binary)) ?? nil) ?? 0 > before + 1 })
            kept.close()
        }

        @Test("/healthz is 200 while the proxy serves, and 503 for a request that comes while it stops")
        func health() throws {
            let served = try ServedMap(options: ["--shutdown-grace", "5m", "--header-timeout", "5m", "--threads", "1"])
            let binary = served.binary
            let idle = try binary.connect()
            for method in ["GET", "HEAD"] {
                let response = try Metrics.own(binary, "/healthz", method: method)
                #expect(response.status == 200)
                #expect(response.text == (method == "GET" ? "ok\n" : ""))
                #expect(response.field("Content-Length") == "3")
                #expect(response.field("Content-Type") == "text/plain; charset=utf-8")
                #expect(response.field("Cache-Control") == "no-store")
            }
            #expect(try Metrics.own(binary, "/healthz", method: "POST").status == 405)
            let late = try binary.connect()
            try late.send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:\(binary.port)\r\n")
            #expect(
                Wait.holds {
                    (try? Metrics.value(#"subproxy_connections{state="active"}"#, binary)) == 2
                })
            binary.process.send(SIGTERM)
            // When the loop closes what is idle, it has learnt of the stop.
            #expect(Wait.holds { idle.hasEnded })
            try late.send("\r\n")
            let response = try late.receiveResponse()
            #expect(response.status == 503)
            #expect(response.text == "stopping\n")
            #expect(response.field("Connection") == "close")
            #expect(try late.receiveAll().isEmpty)
            late.close()
            #expect(try binary.process.finish() == 0)
        }
    }
}
