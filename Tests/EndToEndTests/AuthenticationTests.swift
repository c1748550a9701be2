import Foundation
import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// `--auth` with real clients.
    @Suite("Authentication")
    struct Authentication {
        /// Made by `htpasswd -nbB -C 5 ann secret`.
        static let annHash = "$2y$05$xUqe.DWurYjLZRZUqXWwCuWpUTQJa0S5Mq.8KjWXzKCZ31l2W4/kK"
        /// Made by `htpasswd -nbB -C 5 bob 'pässword: 2'`.
        static let bobHash = "$2y$05$q1x3M2quR32Np36Kyx2om.GjFCG5mLeZxtmKsB0Lzi4naWw7BtnOa"

        static func basic(_ text: String) -> String { "Basic " + Data(text.utf8).base64EncodedString() }

        private let users: TemporaryFolder
        private let served: ServedMap
        private let origin: ScriptedOrigin

        private var file: String { "\(users.path)/users" }

        init() throws {
            users = TemporaryFolder()
            let file = try users.write("users", "ann:\(Authentication.annHash)\nbob:\(Authentication.bobHash)\n")
            chmod(file, 0o600)
            origin = try ScriptedOrigin { request, connection in
                let request = try connection.readBody(of: request)
                try connection.respond(
                    body: "\(request.body.count) \(request.field("Proxy-Authorization") ?? "-")\n")
                return true
            }
            served = try ServedMap(options: ["--auth", file], tunnelsTo: origin.port)
        }

        private func curl(_ arguments: [String]) throws -> ChildProcess {
            try ChildProcess.run(
                [
                    "curl", "--disable", "--silent", "--show-error", "--max-time", "300", "--noproxy", "", "-x",
                    "http://127.0.0.1:\(served.binary.port)", "--write-out", "%{http_code} %{num_connects}",
                ] + arguments,
                environment: ["http_proxy": "", "https_proxy": "", "ALL_PROXY": "", "no_proxy": ""])
        }

        @Test(
            "curl gets what it asks for with a name and its password, in each of its ways to give them",
            arguments: [
                ["--proxy-user", "ann:secret"], ["--proxy-user", "bob:pässword: 2"],
                ["--proxy-user", "ann:secret", "--proxy-basic"], ["--proxy-user", "ann:secret", "--proxy-anyauth"],
            ])
        func right(credentials: [String]) throws {
            let mapped = try curl(credentials + ["http://mapped.test/x"])
            #expect(mapped.output == "x200 1", "\(mapped.error)")
            let forwarded = try curl(credentials + ["http://127.0.0.1:\(origin.port)/"])
            #expect(forwarded.output == "0 -\n200 1")
            let body = try curl(
                credentials + [
                    "--data-binary", String(repeating: "x", count: 50_000), "http://127.0.0.1:\(origin.port)/",
                ])
            #expect(body.output == "50000 -\n200 1" || body.output == "50000 -\n200 2", "\(body.output)")
            let tunnelled = try curl(credentials + ["--proxytunnel", "http://127.0.0.1:\(origin.port)/"])
            #expect(tunnelled.output == "0 -\n200 1", "\(tunnelled.error)")
        }

        @Test(
            "curl gets 407 with anything else, and 407 for CONNECT",
            arguments: [
                [], ["--proxy-user", "ann:wrong"], ["--proxy-user", "nobody:secret"], ["--proxy-user", "ann:"],
                ["--user", "ann:secret"], ["--proxy-user", "ann:secret", "--proxy-digest"],
            ])
        func wrong(credentials: [String]) throws {
            let forward = try curl(credentials + ["--output", "/dev/null", "http://127.0.0.1:\(origin.port)/"])
            #expect(forward.output.hasPrefix("407 "))
            let tunnel = try curl(credentials + ["--proxytunnel", "http://127.0.0.1:\(origin.port)/"])
            #expect(tunnel.status == 56)
            #expect(tunnel.error.contains("407"))
            #expect(origin.connectionCount == 0)
        }

        @Test("A decrypted tunnel asks once, at CONNECT")
        func decrypted() throws {
            let folder = TemporaryFolder()
            let secure = try ServedMap(
                "https://secure.test/x: { text: decrypted }", options: ["--auth", file, "--ca-dir", folder.path])
            func ask(_ credentials: [String]) throws -> ChildProcess {
                try ChildProcess.run(
                    [
                        "curl", "--disable", "--silent", "--max-time", "300", "--noproxy", "", "--insecure", "-x",
                        "http://127.0.0.1:\(secure.binary.port)", "https://secure.test/x", "https://secure.test/x",
                    ] + credentials)
            }
            #expect(try ask(["--proxy-user", "ann:secret"]).output == "decrypteddecrypted")
            #expect(try ask([]).status == 56)
        }

        @Test("Python's urllib gets through with the credentials of its proxy's URL")
        func urllib() throws {
            let script = """
                import sys, urllib.request
                handler = urllib.request.ProxyHandler({'http': sys.argv[1]})
                print(urllib.request.build_opener(handler).open(sys.argv[2], timeout=300).read().decode())
                """
            let proxy = "http://ann:secret@127.0.0.1:\(served.binary.port)"
            let client = try ChildProcess.run(["python3", "-c", script, proxy, "http://mapped.test/x"])
            #expect(client.output == "x\n", "\(client.error)")
        }

        @Test(
            "Chromium asks its user once, and loads what the map and an origin have",
            .program(InstalledProgram.chromium, of: "chromium"))
        func chromium() throws {
            let profile = TemporaryFolder()
            let client = try ChildProcess.run(
                [
                    "python3", "-B", "\(EndToEnd.scripts)/chromiumauth.py", "--chromium", InstalledProgram.chromium,
                    "--proxy",
                    "127.0.0.1:\(served.binary.port)", "--profile", profile.path, "--name", "ann", "--password",
                    "secret",
                    "http://mapped.test/x", "http://127.0.0.1:\(origin.port)/", "http://mapped.test/x",
                ])
            #expect(client.status == 0, "\(client.error)")
            let seen = try JSONDecoder().decode(Seen.self, from: Data(client.output.utf8))
            #expect(seen.texts == ["x", "0 -", "x"])
            #expect(seen.asked == 1)
        }

        private struct Seen: Decodable {
            var texts: [String]
            var asked: Int
        }

        @Test("Who has a password gets no more guesses at another's by it, and not by what bcrypt passes over of it")
        func guesses() throws {
            // Of 72 bytes `p`, with a cost of 5.
            let hash = "$2y$05$abcdefghijklmnopqrstuueTFRGDqVFTIfwSnwEw/V4ZpLYuQbKSG"
            let file = try users.write("more", "ann:\(Authentication.annHash)\neve:\(hash)\n")
            let binary = try ServedMap(options: ["--auth", file]).binary
            func ask(_ text: String) throws -> Int {
                let fields = ["Proxy-Authorization: \(Authentication.basic(text))"]
                return try binary.get("http://mapped.test/x", fields: fields).status
            }
            let long = String(repeating: "p", count: 72)
            for guess in 0..<6 {
                #expect(try ask("ann:guess\(guess)") == 407)
                #expect(try ask("eve:\(long)\(guess)") == 200)
            }
            // After the sixth failure a second has to pass, which may be over before the next guess, and then two, and
            // so on.
            var turn = 0
            #expect(
                try Wait.holds {
                    turn += 1
                    return try ask("eve:\(long)x\(turn)") == 200 && ask("ann:guess") == 429
                })
        }

        @Test("SIGHUP reads the file anew; one with a mistake is reported, and the old passwords stay")
        func reload() throws {
            let binary = served.binary
            func status(_ text: String) throws -> Int {
                try binary.get(
                    "http://mapped.test/x", fields: ["Proxy-Authorization: \(Authentication.basic(text))"]
                ).status
            }
            #expect(try status("ann:secret") == 200)
            try users.write("users", "bob:\(Authentication.bobHash)\n")
            binary.process.send(SIGHUP)
            #expect(Wait.holds { (try? status("ann:secret")) == 407 })
            #expect(try status("bob:pässword: 2") == 200)
            #expect(Wait.holds { binary.process.error.contains("the passwords are loaded anew (1 user)") })
            try users.write("users", "ann:$apr1$x$0123456789\n")
            binary.process.send(SIGHUP)
            #expect(Wait.holds { binary.process.error.contains("the passwords stay as they were") })
            #expect(binary.process.error.contains("users:1:5: error: the password is hashed with MD5 ($apr1$)"))
            #expect(!binary.process.error.contains("0123456789"))
            #expect(try status("bob:pässword: 2") == 200)
        }

        @Test(
            "A file that can't be used ends the start with its line, column and reason",
            arguments: [
                ("ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n", 65, "users:1:5: error: the password is hashed with SHA-1"),
                ("ann:plain\n", 65, "users:1:5: error: the password is in plain text"),
                ("", 65, "users: error: the file names nobody"), (nil, 66, "can't be read: No such file or directory"),
            ])
        func unusable(text: String?, status: Int32, message: String) throws {
            let folder = TemporaryFolder()
            if let text { try folder.write("users", text) }
            let program = try SubproxyProcess.run([
                "--map", served.mapPath, "--listen", "127.0.0.1:0", "--auth", "\(folder.path)/users",
            ])
            #expect(program.status == status)
            #expect(program.error.contains(message), "\(program.error)")
        }

        @Test("A file that others may read is warned of")
        func exposed() throws {
            chmod(file, 0o644)
            let other = try ServedMap(options: ["--auth", file])
            #expect(
                Wait.holds { other.binary.process.error.contains("every user of this machine can read") })
            #expect(!served.binary.process.error.contains("every user of this machine"))
        }

        @Test("run refuses --auth, since its command could give no password")
        func run() throws {
            let program = try SubproxyProcess.run(["run", "--map", served.mapPath, "--auth", file, "--", "true"])
            #expect(program.status == 64)
            #expect(program.error.hasPrefix("subproxy: error: --auth is for serve"))
        }

        @Test(
            "Other machines are let in by a password; without --auth a warning says that everybody is",
            .kernel(NetworkNamespace.isAvailable, "namespaces of networks"))
        func remote() throws {
            let stage = try ServedMap(wrapper: NetworkNamespace.twoAddresses)
            try NetworkNamespace.inside(stage.binary.process) {
                let listening = ["--listen", "10.77.1.1:3128", "--allow-remote"]
                let origin = try ScriptedOrigin(isOnAllAddresses: true, body: "found")
                for auth in [[], ["--auth", file]] {
                    let served = try ServedMap(options: listening + auth)
                    let isOpen = auth.isEmpty
                    func ask(_ url: String, _ more: [String] = []) throws -> String {
                        try ChildProcess.run(
                            [
                                "curl", "--disable", "--silent", "--max-time", "300", "--noproxy", "", "--interface",
                                "10.77.1.2", "-x", "http://10.77.1.1:3128", "--output", "/dev/null", "--write-out",
                                "%{http_code}", url,
                            ] + more
                        ).output
                    }
                    let inside = "http://127.0.0.1:\(origin.port)/"
                    #expect(try ask("http://mapped.test/x") == (isOpen ? "200" : "407"))
                    #expect(try ask(inside) == (isOpen ? "403" : "407"))
                    let user = ["--proxy-user", "ann:secret"]
                    #expect(try ask("http://mapped.test/x", user) == "200")
                    // The policy for addresses is the same for whoever has a password.
                    #expect(try ask(inside, user) == "403")
                    #expect(try ask("http://mapped.test/x", ["--proxy-user", "ann:x"]) == (isOpen ? "200" : "407"))
                    func isWarned() -> Bool {
                        served.binary.process.error.contains("everybody who reaches this machine")
                    }
                    #expect(isOpen ? Wait.holds { isWarned() } : !isWarned())
                }
                #expect(origin.connectionCount == 0)
            }
        }

        @Test(
            "With --allow-remote Chromium on another machine loads what the map has, with --auth after it asked its user",
            .program(InstalledProgram.chromium, of: "chromium"),
            .kernel(NetworkNamespace.isAvailable, "namespaces of networks"),
            arguments: [false, true])
        func remoteChromium(asksForPassword: Bool) throws {
            let stage = try ServedMap(wrapper: NetworkNamespace.twoAddresses)
            try NetworkNamespace.inside(stage.binary.process) {
                let origin = try ScriptedOrigin(isOnAllAddresses: true, body: "found")
                let options = ["--listen", "10.77.1.1:3128", "--allow-remote", "--log-format", "json"]
                let served = try ServedMap(options: options + (asksForPassword ? ["--auth", file] : []))
                let profile = TemporaryFolder()
                let client = try ChildProcess.run(
                    [
                        "python3", "-B", "\(EndToEnd.scripts)/chromiumauth.py", "--chromium", InstalledProgram.chromium,
                        "--proxy", "10.77.1.1:3128", "--profile", profile.path, "--name", "ann", "--password", "secret",
                        "http://mapped.test/x", "http://127.0.0.1:\(origin.port)/", "http://mapped.test/x",
                    ])
                #expect(client.status == 0, "\(client.error)")
                let seen = try JSONDecoder().decode(Seen.self, from: Data(client.output.utf8))
                #expect(seen.texts.count == 3)
                #expect(seen.texts.first == "x" && seen.texts.last == "x", "\(seen.texts)")
                // This machine's own services are not for others.
                #expect(seen.texts.dropFirst().first?.contains("403") == true, "\(seen.texts)")
                #expect(origin.connectionCount == 0)
                #expect(seen.asked == (asksForPassword ? 1 : 0))
                func lines() -> [Substring] {
                    served.binary.log.split(separator: "\n").filter { $0.contains("http://mapped.test/x") }
                }
                #expect(Wait.holds { lines().count >= 2 })
                #expect(lines().allSatisfy { $0.contains("\"client\":\"10.77.1.2\"") }, "\(lines())")
            }
        }
    }
}
