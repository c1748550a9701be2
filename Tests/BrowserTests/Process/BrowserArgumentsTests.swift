import Testing

@testable import Browser

@Suite("The arguments of a browser")
struct BrowserArgumentsTests {
    private func list(_ change: (inout BrowserOptions) -> Void = { _ in }) -> [String] {
        var options = BrowserOptions(executable: "/x/chromium")
        change(&options)
        return BrowserArguments.list(for: options, profile: "/p")
    }

    @Test("name a profile, the pipe and the size, and no proxy where there is none")
    func plain() {
        let list = list()
        for argument in [
            "--user-data-dir=/p", "--headless=new", "--remote-debugging-pipe", "--window-size=1280,800",
            "--no-proxy-server", "--no-first-run", "--disable-background-networking", "--disable-component-update",
        ] { #expect(list.contains(argument)) }
        #expect(list.last == "about:blank")
        for argument in ["--no-sandbox", "--enable-automation", "--proxy", "--ignore-certificate", "--user-agent"] {
            #expect(!list.contains { $0.hasPrefix(argument) })
        }
        #expect(Set(list).count == list.count)
    }

    @Test("send everything through a proxy, loopback too, and trust its key")
    func proxy() {
        let list = list { $0.proxy = BrowserOptions.Proxy(address: "127.0.0.1:8888", trustedKeys: [[1, 2], [255]]) }
        for argument in [
            "--proxy-server=http://127.0.0.1:8888",
            "--ignore-certificate-errors-spki-list=AQI=,/w==",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ] { #expect(list.contains(argument)) }
        #expect(!list.contains("--no-proxy-server"))
        #expect(list.contains { $0.hasPrefix("--proxy-bypass-list=<-loopback>;") })
    }

    @Test("open a window at a page where a person looks at it")
    func window() {
        let list = list {
            $0.isHeadless = false
            // No switch, though it is written as one.
            $0.startPage = "--proxy-server=x"
            $0.hasNoSandbox = true
            $0.userAgent = "Test/1"
        }
        #expect(list.suffix(2) == ["--", "--proxy-server=x"])
        #expect(list.contains("--no-sandbox"))
        #expect(list.contains("--user-agent=Test/1"))
        #expect(list.contains("--test-type"))
        for argument in ["--headless", "--remote-debugging", "--mute-audio", "--disable-extensions"] {
            #expect(!list.contains { $0.hasPrefix(argument) })
        }
    }

    @Test("leave the keyring to a profile that somebody has logged in with, whose cookies it encrypts")
    func keyring() {
        #expect(list().contains("--password-store=basic"))
        #expect(!list { $0.userDataFolder = "/u" }.contains { $0.hasPrefix("--password-store") })
        #expect(!list().contains("--test-type"))
        let cached = BrowserArguments.list(for: BrowserOptions(executable: "/x"), profile: "/p", cache: "/c")
        #expect(cached.contains("--disk-cache-dir=/c") && cached.last == "about:blank")
    }

    @Test("are not for root without a word about the sandbox")
    func root() throws {
        var options = BrowserOptions(executable: "/x")
        let failure = #expect(throws: BrowserFailure.self) { try BrowserSession.checkUser(options, user: 0) }
        #expect(failure?.kind == .unavailable)
        #expect(failure?.message.contains("--no-sandbox") == true)
        try BrowserSession.checkUser(options, user: 1000)
        options.hasNoSandbox = true
        try BrowserSession.checkUser(options, user: 0)
    }
}

@Suite("The browser that is installed")
struct BrowserExecutableTests {
    @Test(
        "is the first of the names on PATH, whatever the folder",
        arguments: [
            ("/a:/b", ["/b/chromium", "/a/google-chrome"], "/b/chromium"),
            ("/a::/b", ["/a/chromium-browser", "/b/chromium-browser"], "/a/chromium-browser"),
            ("/a", ["/a/google-chrome", "/a/google-chrome-stable"], "/a/google-chrome-stable"),
        ])
    func search(path: String, files: [String], found: String) throws {
        #expect(try BrowserExecutable.find(path: path) { files.contains($0) } == found)
    }

    @Test("may be named by a path, or by a name on PATH")
    func named() throws {
        #expect(try BrowserExecutable.find("./mine", path: "/a") { $0 == "./mine" } == "./mine")
        #expect(try BrowserExecutable.find("mine", path: "/a:/b") { $0 == "/b/mine" } == "/b/mine")
    }

    @Test(
        "is missed with what to do",
        arguments: [
            (nil, "no Chromium or Chrome was found: sudo apt install chromium"), ("x", "there is no 'x' on PATH"),
            ("/x", "'/x' can't be run"),
        ])
    func missing(name: String?, message: String) {
        let failure = #expect(throws: BrowserFailure.self) {
            try BrowserExecutable.find(name, path: "/a") { _ in false }
        }
        #expect(failure == BrowserFailure(.unavailable, message))
    }

    @Test("is a file that may be run", arguments: [("/bin/sh", true), ("/bin", false), ("/etc/passwd", false)])
    func executable(path: String, isOne: Bool) { #expect(BrowserExecutable.isExecutable(path) == isOne) }
}
