import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// What the program tells a service manager. (sd_notify(3))
    @Suite("Service")
    struct Service {
        /// Sends a SIGHUP and returns the two messages that come.
        private func reload(_ process: ChildProcess, _ manager: ServiceManager) -> [String] {
            process.send(SIGHUP)
            return [manager.notifications.next() ?? "", manager.notifications.next() ?? ""]
        }

        @Test(
            "A reload is told at its beginning, with the time, and at its end; an error is in the status till the next")
        func reloads() throws {
            let manager = try ServiceManager()
            let process = try manager.start()
            #expect(try manager.readyStatus() == "listening on http://127.0.0.1:\(manager.port) (1 map, 1 rule)")
            let before = Clock.seconds
            let good = reload(process, manager)
            let time = try #require(good[0].wholeMatch(of: #/RELOADING=1\nMONOTONIC_USEC=([0-9]+)/#))
            let seconds = try #require(Double(time.1)) / 1e6
            #expect(before <= seconds && seconds <= Clock.seconds)
            let well = "READY=1\nSTATUS=listening on http://127.0.0.1:\(manager.port) (1 map, 1 rule)"
            #expect(good[1] == well)
            // In the place of the old file, so that no half of it is read.
            try manager.folder.write("m.new", ServedMap.text("http://mapped.test/x: { txt: x }"))
            #expect(rename("\(manager.folder.path)/m.new", manager.mapPath) == 0)
            #expect(manager.notifications.next()?.hasPrefix("RELOADING=1\n") == true)
            let bad = manager.notifications.next() ?? ""
            #expect(bad.hasPrefix(well + "; the last reload failed: "), "\(bad)")
            #expect(bad.contains("m.yaml:2:"))
            #expect(bad.hasSuffix("error: unknown option 'txt'; did you mean 'text'?"))
            #expect(bad.split(separator: "\n").count == 2)
            try manager.folder.write("m.new", ServedMap.text("http://mapped.test/x: { text: x }"))
            #expect(rename("\(manager.folder.path)/m.new", manager.mapPath) == 0)
            #expect(manager.notifications.next()?.hasPrefix("RELOADING=1\n") == true)
            #expect(manager.notifications.next() == well)
        }

        @Test("A certificate that can't be read anew is in the status too")
        func certificate() throws {
            let files = try CertificateWorkshop()
            let own = try files.make("proxy.test")
            let manager = try ServiceManager()
            let process = try manager.start(["--tls-cert", own.chain, "--tls-key", own.key], names: "https")
            _ = try manager.readyStatus()
            try #require(unlink(own.key) == 0)
            let ending = "; the last reload failed: the file '\(own.key)' can't be read: No such file or directory"
            #expect(reload(process, manager)[1].hasSuffix(ending))
        }

        @Test("A stop says how long it may take, and is the last that is told")
        func stop() throws {
            let manager = try ServiceManager()
            let process = try manager.start(
                ["--shutdown-grace", "42s"], environment: ["WATCHDOG_USEC": "100000"])
            _ = try manager.readyStatus()
            process.send(SIGTERM)
            var messages: [String] = []
            // The socket's queue takes a few.
            try Wait.until {
                messages += manager.notifications.waiting()
                return process.hasEnded
            }
            #expect(process.status == 0)
            let last = (messages + manager.notifications.waiting()).last
            #expect(
                last == "STOPPING=1\nEXTEND_TIMEOUT_USEC=47000000\nSTATUS=Finishing the exchanges under way")
        }

        @Test("A hundred SIGHUPs under load: no request fails, and each reload that begins is told to end")
        func manyReloads() async throws {
            let origin = try ScriptedOrigin(body: "forwarded")
            let manager = try ServiceManager("http://mapped.test/file: file.txt", files: ["file.txt": "mapped"])
            let urls = [("http://mapped.test/file", "mapped"), ("http://127.0.0.1:\(origin.port)/", "forwarded")]
            let process = try manager.start(["--threads", "2"])
            _ = try manager.readyStatus()
            let isOver = Counter()
            let port = manager.port
            async let counts = atOnce(4) { worker in
                var count = 0
                var client = try Socket.connect(port: port)
                while isOver.value == 0 {
                    let (url, text) = urls[count % 2]
                    let isLast = worker % 2 == 0
                    try client.sendRequest("GET", url, fields: isLast ? ["Connection: close"] : [])
                    let response = try client.receiveResponse()
                    #expect(response.status == 200)
                    #expect(response.text == text)
                    if isLast { client = try Socket.connect(port: port) }
                    count += 1
                }
                return count
            }
            var messages: [String] = []
            for _ in 0..<100 {
                process.send(SIGHUP)
                usleep(9_500)
                // The socket's queue takes a few.
                messages += manager.notifications.waiting()
            }
            // One that comes when all is over, and so has a reload of its own.
            #expect(
                Wait.keeps(for: 0.3) {
                    messages += manager.notifications.waiting()
                    return process.status == nil
                })
            process.send(SIGHUP)
            #expect(
                Wait.holds {
                    messages += manager.notifications.waiting()
                    return messages.count >= 4 && messages.last?.hasPrefix("READY=1") == true
                })
            isOver.add()
            #expect(try await counts.reduce(0, +) > 4)
            for (index, message) in messages.enumerated() {
                #expect(message.hasPrefix(index % 2 == 0 ? "RELOADING=1\n" : "READY=1\nSTATUS=listening on "))
            }
        }

        @Test("Signs of life come twice in the time that the manager allows, and none while the process is stopped")
        func watchdog() throws {
            let manager = try ServiceManager()
            let start = Clock.seconds
            let process = try manager.start(environment: ["WATCHDOG_USEC": "400000"])
            _ = try manager.readyStatus()
            for _ in 0..<5 { #expect(manager.notifications.next() == "WATCHDOG=1") }
            #expect(Clock.seconds - start > 0.7)
            try process.suspend()
            _ = manager.notifications.waiting()
            #expect(Wait.keeps(for: 1) { manager.notifications.waiting().isEmpty })
            process.send(SIGCONT)
            #expect(manager.notifications.next() == "WATCHDOG=1")
        }

        @Test(
            "One event loop that is stuck silences the watchdog until it goes on, whichever it is",
            .program("strace", of: "strace"), .kernel(FaultInjection.isAllowed, "leave to trace a process"))
        func stuckLoop() throws {
            let manager = try ServiceManager()
            let process = try manager.start(["--threads", "2"], environment: ["WATCHDOG_USEC": "200000"])
            _ = try manager.readyStatus()
            #expect(manager.notifications.next() == "WATCHDOG=1")
            // An accepted connection is registered by its loop: each is held there once.
            for _ in 0..<2 {
                let injection = try FaultInjection(into: process, [FaultInjection.holding("epoll_ctl") + ":when=1"])
                #expect(manager.notifications.next() == "WATCHDOG=1")
                let client = try Socket.connect(port: manager.port)
                // Ten times the time in which one would come.
                #expect(
                    Wait.holds {
                        _ = manager.notifications.waiting()
                        return Wait.keeps(for: 1) { manager.notifications.waiting().isEmpty }
                    })
                try injection.end()
                #expect(manager.notifications.next() == "WATCHDOG=1")
                try client.sendRequest("GET", "http://mapped.test/x")
                #expect(try client.receiveResponse().text == "x")
            }
        }

        @Test(
            "There are no signs of life where the manager wants none, or another process's",
            arguments: [[:], ["WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"], ["WATCHDOG_USEC": "0"]])
        func noWatchdog(environment: [String: String]) throws {
            let manager = try ServiceManager()
            let process = try manager.start(environment: environment)
            _ = try manager.readyStatus()
            #expect(Wait.keeps(for: 0.5) { manager.notifications.waiting().isEmpty })
            #expect(process.status == nil)
        }

        @Test("A manager that takes no messages holds nothing up", arguments: [true, false])
        func deafManager(isGone: Bool) throws {
            let manager = try ServiceManager()
            let process = try manager.start(environment: ["WATCHDOG_USEC": "2000"])
            _ = try manager.readyStatus()
            if isGone { try #require(unlink("\(manager.folder.path)/notify") == 0) }
            // Its queue fills with signs of life in a few milliseconds.
            let start = Clock.seconds
            for _ in 0..<100 {
                usleep(5000)
                let client = try Socket.connect(port: manager.port)
                try client.sendRequest("GET", "http://mapped.test/x")
                #expect(try client.receiveResponse().text == "x")
            }
            // A message that waited for the manager would wait for five seconds, and each of these for some of them.
            #expect(Clock.seconds - start < Wait.limit)
            #expect(process.status == nil)
        }
    }
}
