import ProxyTestKit
import Testing

extension EndToEnd {
    /// curl as the client, as the README shows it.
    @Suite("curl")
    struct Curl {
        private let served: ServedMap

        init() throws {
            served = try ServedMap(
                """
                http://images.example.com/a.txt: a.txt
                http://images.example.com/nav.png: nav.png
                """, files: ["a.txt": "0123456789", "nav.png": String(repeating: "p", count: 2000)])
        }

        /// Runs curl through the proxy of `served`.
        private func curl(_ arguments: [String], within command: [String] = [], at port: UInt16? = nil) throws
            -> ChildProcess
        {
            try ChildProcess.run(
                command + [
                    "curl", "--disable", "--silent", "--show-error", "--max-time", "300", "--noproxy", "", "-x",
                    "http://127.0.0.1:\(port ?? served.binary.port)",
                ] + arguments,
                environment: [
                    "http_proxy": "", "https_proxy": "", "HTTPS_PROXY": "", "ALL_PROXY": "", "no_proxy": "",
                    "NO_PROXY": "",
                ])
        }

        @Test(
            "A mapped image comes with no network at all",
            .kernel(NetworkNamespace.isAvailable, "namespaces of networks"))
        func noNetwork() throws {
            let isolated = try ServedMap(
                "http://images.example.com/nav.png: nav.png", files: ["nav.png": String(repeating: "p", count: 2000)],
                wrapper: NetworkNamespace.wrapper)
            let entering = NetworkNamespace.entering(isolated.binary.process)
            let port = isolated.binary.port
            let answer = try curl(["--include", "http://images.example.com/nav.png"], within: entering, at: port)
            #expect(answer.status == 0, "\(answer.error)")
            #expect(answer.output.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(answer.output.contains("\r\nContent-Type: image/png\r\n"))
            #expect(answer.output.contains("\r\nCache-Status: subproxy; hit; detail=\"m.yaml:2\"\r\n"))
            #expect(answer.output.hasSuffix("\r\n\r\n" + String(repeating: "p", count: 2000)))
            // Past the map, the name can't be resolved: that is an answer too.
            let bypassing = try curl(
                ["--include", "-H", "Cache-Control: no-cache", "http://images.example.com/nav.png"], within: entering,
                at: port)
            #expect(bypassing.output.hasPrefix("HTTP/1.1 502 "))
        }

        @Test(
            "Cache-Control: no-cache, or Pragma where there is none, goes to the origin",
            arguments: ["Cache-Control", "Pragma"])
        func bypass(field: String) throws {
            let origin = try ScriptedOrigin(body: "from the origin")
            let mapped = try ServedMap(
                "http://127.0.0.1:\(origin.port)/a.txt: a.txt", files: ["a.txt": "from the map"])
            let url = "http://127.0.0.1:\(origin.port)/a.txt"
            #expect(try curl([url], at: mapped.binary.port).output == "from the map")
            let answer = try curl(["--include", "-H", "\(field): no-cache", url], at: mapped.binary.port)
            #expect(answer.output.hasSuffix("\r\n\r\nfrom the origin"))
            #expect(answer.output.contains("\r\nCache-Status: subproxy; fwd=request; detail=\"no-cache m.yaml:2\"\r\n"))
            #expect(origin.requests.count == 1)
            #expect(origin.requests.first?.field(field) == "no-cache")
        }

        @Test("HEAD gives the head that GET would")
        func head() throws {
            let answer = try curl(["--head", "http://images.example.com/a.txt"])
            #expect(answer.status == 0)
            #expect(answer.output.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(answer.output.contains("\r\nContent-Length: 10\r\n"))
            #expect(answer.output.hasSuffix("\r\n\r\n"))
        }

        @Test(
            "Ranges, one and several",
            arguments: [("2-4", "234"), ("-3", "789"), ("8-", "89"), ("0-0", "0"), ("5-100", "56789")])
        func ranges(range: String, text: String) throws {
            let answer = try curl(["--range", range, "--write-out", " %{http_code}", "http://images.example.com/a.txt"])
            #expect(answer.output == "\(text) 206")
            let several = try curl(["--include", "--range", "0-1,\(range)", "http://images.example.com/a.txt"])
            #expect(several.output.hasPrefix("HTTP/1.1 206 "))
        }

        @Test("A range beyond the end is a 416 with the length, and a resumed download goes on where it was")
        func rangeEdges() throws {
            let beyond = try curl(["--include", "--range", "10-", "http://images.example.com/a.txt"])
            #expect(beyond.output.hasPrefix("HTTP/1.1 416 "))
            #expect(beyond.output.contains("\r\nContent-Range: bytes */10\r\n"))
            try served.folder.write("part", "01234")
            let path = "\(served.folder.path)/part"
            #expect(try curl(["--continue-at", "-", "--output", path, "http://images.example.com/a.txt"]).status == 0)
            #expect(try ChildProcess.run(["cat", path]).output == "0123456789")
        }

        @Test("An HTTP/1.0 client gets a response that ends with the connection", arguments: [true, false])
        func version10(isMapped: Bool) throws {
            let origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                try connection.socket.send(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n")
                return true
            }
            let url = isMapped ? "http://images.example.com/a.txt" : "http://127.0.0.1:\(origin.port)/a.txt"
            let answer = try curl(["--http1.0", "--include", url])
            #expect(answer.status == 0)
            #expect(answer.output.hasSuffix("\r\n\r\n0123456789"))
            #expect(!answer.output.lowercased().contains("transfer-encoding"))
        }

        @Test("Several requests share one connection to the proxy, and one to the origin")
        func reuse() throws {
            let origin = try ScriptedOrigin(body: "ok")
            let url = "http://127.0.0.1:\(origin.port)/"
            let answer = try curl(
                [
                    "--write-out", " %{num_connects}\n", "\(url)1", "\(url)2", "http://images.example.com/a.txt",
                    "\(url)3",
                ])
            #expect(answer.output == "ok 1\nok 0\n0123456789 0\nok 0\n")
            #expect(origin.connectionCount == 1)
        }

        @Test("An upload with Expect: 100-continue waits for the origin's word", arguments: [true, false])
        func expectContinue(isAccepted: Bool) throws {
            let origin = try ScriptedOrigin { request, connection in
                guard isAccepted else {
                    try connection.respond("413 Content Too Large", body: "too large")
                    return false
                }
                try connection.socket.send("HTTP/1.1 100 Continue\r\n\r\n")
                let request = try connection.readBody(of: request)
                try connection.respond(body: "\(request.body.count)")
                return true
            }
            let path = try served.folder.write("upload", String(repeating: "u", count: 3_000_000))
            let answer = try curl(
                [
                    "--upload-file", path, "-H", "Expect: 100-continue", "--expect100-timeout", "300", "--write-out",
                    " %{http_code} %{size_upload}", "http://127.0.0.1:\(origin.port)/up",
                ])
            #expect(answer.output == (isAccepted ? "3000000 200 3000000" : "too large 413 0"))
        }

        @Test("An upload of unknown length arrives as it is")
        func chunkedUpload() throws {
            let origin = try ScriptedOrigin { request, connection in
                let request = try connection.readBody(of: request)
                try connection.respond(body: "\(request.field("Transfer-Encoding") ?? "") \(request.body.count)")
                return true
            }
            let path = try served.folder.write("upload", String(repeating: "u", count: 1_000_000))
            let answer = try curl(
                ["--upload-file", path, "-H", "Transfer-Encoding: chunked", "http://127.0.0.1:\(origin.port)/up"])
            #expect(answer.output == "chunked 1000000")
        }
    }
}
