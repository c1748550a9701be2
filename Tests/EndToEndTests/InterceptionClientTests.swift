import Foundation
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Usual clients with the authority installed, in a network that leads nowhere: what the map answers over https
    /// needs no look-up and no connection.
    @Suite(
        "Clients of decrypted tunnels",
        .kernel(NetworkNamespace.isAvailableWithMounts, "namespaces of networks and mounts"))
    struct InterceptionClients {
        private static let rules = """
            https://shop.test/page.html: { file: index.html, bypass: never }
            https://shop.test/image.png: { file: sub.png, bypass: never }
            https://shop.test/code.js: { file: sub.js, bypass: never }
            https://shop.test/wide.ttf: { file: sub.ttf, bypass: never }
            https://shop.test/text: { text: substituted }
            """

        /// A network without routes and without name servers.
        private static let nowhere = NetworkNamespace.wrapper(setUp: "mount --bind /dev/null /etc/resolv.conf")

        private func makeProxy() throws -> DecryptingProxy {
            try DecryptingProxy(
                Self.rules, files: ["index.html": InBrowsers.Chromium.page, "sub.js": InBrowsers.Chromium.script],
                workshop: try CertificateWorkshop(), wrapper: Self.nowhere)
        }

        private func run(
            _ proxy: DecryptingProxy, _ command: [String], environment: [String: String] = [:],
            seconds: Double = 2 * Wait.limit
        )
            throws -> ChildProcess
        {
            try ChildProcess.run(
                NetworkNamespace.entering(proxy.binary.process) + command, environment: environment, seconds: seconds)
        }

        @Test("curl gets the map's answer over both versions of HTTP")
        func curl() throws {
            let proxy = try makeProxy()
            for (option, version) in [("--http1.1", "1.1"), ("--http2", "2")] {
                let response = try run(
                    proxy,
                    proxy.curl([option, "--write-out", " %{http_version} %{http_code}", "https://shop.test/text"]))
                #expect(response.output == "substituted \(version) 200", "\(response.error)")
            }
            // The host does not exist anywhere else.
            #expect(try run(proxy, proxy.curl(["--fail", "https://shop.test/none"])).status == 22)
            #expect(Wait.holds { proxy.binary.log.contains("https://shop.test/none 502") })
        }

        @Test("Python gets the map's answer with the authority in its own store of certificates")
        func python() throws {
            let proxy = try makeProxy()
            // The first tunnel makes the authority.
            _ = try run(proxy, proxy.curl(["https://shop.test/text"]))
            let script =
                "import urllib.request; answer = urllib.request.urlopen('https://shop.test/text', timeout=100); "
                + "print(answer.status, answer.headers['Cache-Status'], answer.read().decode())"
            let environment = [
                "https_proxy": "http://127.0.0.1:\(proxy.port)", "no_proxy": "", "NO_PROXY": "",
                "SSL_CERT_FILE": proxy.authority,
            ]
            let response = try run(proxy, ["python3", "-c", script], environment: environment)
            #expect(
                response.output == "200 subproxy; hit; detail=\"m.yaml:6\" substituted\n", "\(response.error)")
            let distrusting = try run(
                proxy, ["python3", "-c", script],
                environment: environment.merging(["SSL_CERT_FILE": "/dev/null"]) { $1 })
            #expect(distrusting.error.contains("CERTIFICATE_VERIFY_FAILED"))
        }

        @Test(
            "Neither a name is looked up nor a connection made",
            .program("strace", of: "strace"), .kernel(FaultInjection.isAllowed, "leave to trace a process"))
        func systemCalls() throws {
            let proxy = try makeProxy()
            let trace = "\(proxy.workshop.folder.path)/trace"
            let tracer = try ChildProcess([
                "strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg,openat,accept,accept4", "-o", trace,
                "-p", "\(proxy.binary.process.identifier)",
            ])
            // Each connection of a client is seen, so that it is known that the tracer is there.
            #expect(
                try Wait.holds {
                    _ = try run(proxy, proxy.curl(["https://shop.test/text"]))
                    return (try? String(contentsOfFile: trace, encoding: .utf8))?.contains("accept") == true
                })
            for _ in 0..<3 { #expect(try run(proxy, proxy.curl(["https://shop.test/text"])).output == "substituted") }
            tracer.send(SIGINT)
            try tracer.finish()
            let text = try String(contentsOfFile: trace, encoding: .utf8)
            #expect(!text.contains("sa_family=AF_INET"))
            #expect(!text.contains("resolv.conf") && !text.contains("/etc/hosts"))
            #expect(!text.contains("sendto(") && !text.contains("sendmmsg("))
        }

        @Test(
            "Chromium shows a page of the map over HTTP/2",
            .program(InstalledProgram.chromium, of: "chromium"), .program("certutil", of: "libnss3-tools"))
        func chromium() throws {
            let proxy = try makeProxy()
            let folder = proxy.served.folder.path
            try InBrowsers.Chromium.makeFiles(in: folder)
            _ = try run(proxy, proxy.curl(["https://shop.test/text"]))
            // The user's store of certificates, at both of the places where Chromium looks for it.
            for store in ["\(folder)/home/.pki/nssdb", "\(folder)/home/.local/share/pki/nssdb"] {
                let made = try ChildProcess.run([
                    "sh", "-c",
                    """
                    mkdir -p \(store) && certutil -d sql:\(store) -N --empty-password && \
                    certutil -d sql:\(store) -A -t C,, -n subproxy -i \(proxy.authority)
                    """,
                ])
                try #require(made.status == 0, "\(made.error)")
            }
            let screenshots = ProcessInfo.processInfo.environment["SUBPROXY_SCREENSHOTS"] ?? folder
            let browser = try run(
                proxy,
                [
                    "python3", "-B", "\(scripts)/chromium.py", "--chromium", InstalledProgram.chromium, "--proxy",
                    "127.0.0.1:\(proxy.port)", "--profile", "\(folder)/profile", "--page",
                    "https://shop.test/page.html",
                    "--screenshots", screenshots,
                ],
                environment: [
                    "http_proxy": "", "https_proxy": "", "no_proxy": "", "HOME": "\(folder)/home", "XDG_DATA_HOME": "",
                ])
            try #require(browser.status == 0, "\(browser.error)")
            let loads = try JSONDecoder().decode(InBrowsers.Chromium.Loads.self, from: Data(browser.outputBytes))
            for load in [loads.visit, loads.reload, loads.hardReload] {
                #expect(load.script == "substituted script")
                #expect(load.image == [64, 48])
                #expect(load.fontIsLoaded)
                for name in ["page.html", "image.png", "code.js", "wide.ttf"] {
                    #expect(load.responses[name]?.httpVersion == "h2", "\(name)")
                    #expect(load.responses[name]?.cacheStatus.hasPrefix("subproxy; hit; detail=\"m.yaml:") == true)
                }
            }
        }
    }
}
