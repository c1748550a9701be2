import Foundation
import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Clocks that are wrong, that jump, and that stand still for a while.
    @Suite("Clocks")
    struct Clocks {
        private static let url = "http://mapped.test/x"
        private static let day = 86_400

        /// How many seconds a Date field is from the system's clock.
        private func offset(_ response: ProxyResponse) throws -> Int {
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(secondsFromGMT: 0)
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            return Int(try #require(response.field("Date").flatMap { format.date(from: $0) }).timeIntervalSinceNow)
        }

        @Test(
            "With a clock that is years off everything works, and dates are that clock's",
            .program("faketime", of: "faketime"),
            arguments: [("+400d x1", 400), ("-10y", -3650)])
        func wrongClock(clock: String, days: Int) throws {
            let origin = try ScriptedOrigin(body: "forwarded")
            let echo = try RawOrigin.echo()
            let served = try ServedMap(
                "\(Clocks.url): { text: x }\nhttp://mapped.test/file: file.txt", files: ["file.txt": "before"],
                tunnelsTo: echo.port, wrapper: FakeClock.wrapper(clock))
            let binary = served.binary
            for (url, text) in [
                (Clocks.url, "x"), ("http://mapped.test/file", "before"),
                ("http://127.0.0.1:\(origin.port)/", "forwarded"),
            ] {
                let response = try binary.get(url)
                #expect(response.text == text)
                #expect(abs(try offset(response) - days * Clocks.day) < 600)
                guard let tag = response.field("ETag") else { continue }
                #expect(try binary.get(url, fields: ["If-None-Match: \(tag)"]).status == 304)
            }
            try served.folder.write("file.txt", "after")
            #expect(Wait.holds { (try? binary.get("http://mapped.test/file").text) == "after" })
            let tunnel = try binary.tunnel(to: echo.port)
            try tunnel.send("through")
            #expect(try tunnel.receive(exactly: 7) == Array("through".utf8))
            tunnel.close()
            #expect(try FakeClock.end(binary.process) == 0)
            #expect(binary.log.split(separator: "\n").count >= 7)
        }

        @Test(
            "A clock that jumps cuts no idle connection and no exchange, and limits on time hold as before",
            .program("faketime", of: "faketime"))
        func jumpingClock() throws {
            let asked = Counter()
            let mayAnswer = Counter()
            let origin = try ScriptedOrigin { request, connection in
                asked.add()
                if request.target == "/slow" { _ = Wait.holds { mayAnswer.value > 0 } }
                try connection.respond(body: "forwarded")
                return true
            }
            let echo = try RawOrigin.echo()
            let clock = TemporaryFolder()
            try clock.write("clock", "+0d\n")
            let served = try ServedMap(
                "\(Clocks.url): { text: x }", options: ["--header-timeout", "500ms"], tunnelsTo: echo.port,
                wrapper: FakeClock.wrapper(file: "\(clock.path)/clock"))
            let binary = served.binary
            let idle = try (0..<10).map { _ in try binary.connect() }
            for client in idle[..<5] {
                try client.sendRequest("GET", Clocks.url)
                #expect(abs(try offset(try client.receiveResponse())) < 600)
            }
            let tunnel = try binary.tunnel(to: echo.port)
            let waiting = try binary.connect()
            try waiting.sendRequest("GET", "http://127.0.0.1:\(origin.port)/slow")
            #expect(Wait.holds { asked.value == 1 })
            for days in [400, -3650] {
                try clock.write("clock.new", "\(days > 0 ? "+" : "")\(days)d\n")
                rename("\(clock.path)/clock.new", "\(clock.path)/clock")
                // Connections are looked after four times a second.
                #expect(Wait.keeps(for: 0.4) { !(idle + [tunnel, waiting]).contains { $0.hasInput } })
                for client in idle {
                    try client.sendRequest("GET", Clocks.url)
                    let response = try client.receiveResponse()
                    #expect(response.text == "x")
                    #expect(abs(try offset(response) - days * Clocks.day) < 600)
                }
                try tunnel.send("through")
                #expect(try tunnel.receive(exactly: 7) == Array("through".utf8))
                #expect(try binary.get("http://127.0.0.1:\(origin.port)/").text == "forwarded")
                let start = Clock.seconds
                let slow = try binary.connect()
                try slow.send("GET \(Clocks.url) HTTP/1.1\r\n")
                #expect(try slow.receiveResponse().status == 408)
                #expect(Clock.seconds - start > 0.4)
            }
            mayAnswer.add()
            #expect(try waiting.receiveResponse().text == "forwarded")
            tunnel.close()
            #expect(try FakeClock.end(binary.process) == 0)
        }

        /// One that counts what it is asked, answers once it may, and counts that.
        private static func origin(
            _ asked: Counter, answersWhen mayAnswer: Counter, _ answered: Counter = Counter()
        ) throws -> ScriptedOrigin {
            try ScriptedOrigin { _, connection in
                asked.add()
                _ = Wait.holds { mayAnswer.value > 0 }
                defer { answered.add() }
                try connection.respond(body: "forwarded")
                return true
            }
        }

        @Test(
            "Stopped for longer than its limits on time it goes on: idle connections stay, what came meanwhile is not too late"
        )
        func suspension() throws {
            let asked = Counter()
            let mayAnswer = Counter()
            let answered = Counter()
            let origin = try Clocks.origin(asked, answersWhen: mayAnswer, answered)
            let served = try ServedMap(options: ["--header-timeout", "2s", "--origin-timeout", "2s"])
            let binary = served.binary
            let idle = try (0..<20).map { index in
                let client = try binary.connect()
                if index % 2 == 0 {
                    try client.sendRequest("GET", Clocks.url)
                    #expect(try client.receiveResponse().text == "x")
                }
                return client
            }
            var waiting = try binary.connect()
            var begun = try binary.connect()
            var isEarly = false
            // On a busy machine both may be too late before it is stopped.
            for attempt in 1...100 where !isEarly {
                waiting = try binary.connect()
                begun = try binary.connect()
                let start = Clock.seconds
                // Of its own, so that it doesn't wait for the one before.
                try waiting.sendRequest("GET", "http://127.0.0.1:\(origin.port)/\(attempt)")
                try begun.send("GET \(Clocks.url) HTTP/1.1\r\n")
                #expect(Wait.holds { asked.value == attempt })
                try binary.process.suspend()
                isEarly = Clock.seconds - start < 1.5
                if !isEarly { binary.process.send(SIGCONT) }
            }
            #expect(isEarly)
            mayAnswer.add()
            #expect(Wait.holds { answered.value == asked.value })
            try begun.send("Host: mapped.test\r\n\r\n")
            // A listener's queue takes connections also of a process that is stopped.
            let early = try binary.connect()
            try early.sendRequest("GET", Clocks.url)
            #expect(Wait.keeps(for: 3) { !(idle + [waiting, begun, early]).contains { $0.hasInput } })
            binary.process.send(SIGCONT)
            #expect(try waiting.receiveResponse().text == "forwarded")
            #expect(try begun.receiveResponse().text == "x")
            #expect(try early.receiveResponse().text == "x")
            #expect(Wait.keeps(for: 0.6) { !idle.contains { $0.hasInput } })
            for client in idle {
                try client.sendRequest("GET", Clocks.url)
                #expect(try client.receiveResponse().text == "x")
            }
        }

        @Test("Stopped for longer than connections may be idle, it closes the idle ones, and nothing else")
        func idlenessWhileStopped() throws {
            let asked = Counter()
            let mayAnswer = Counter()
            let origin = try Clocks.origin(asked, answersWhen: mayAnswer)
            let echo = try RawOrigin.echo()
            let served = try ServedMap(
                options: ["--idle-timeout", "2s", "--origin-timeout", "10m", "--threads", "1"], tunnelsTo: echo.port)
            let binary = served.binary
            func used() throws -> Socket {
                let client = try binary.connect()
                try client.sendRequest("GET", Clocks.url)
                #expect(try client.receiveResponse().text == "x")
                return client
            }
            let tunnel = try binary.tunnel(to: echo.port)
            let waiting = try binary.connect()
            try waiting.sendRequest("GET", "http://127.0.0.1:\(origin.port)/")
            #expect(Wait.holds { asked.value == 1 })
            var late: [Socket] = []
            var idle: [Socket] = []
            var isEarly = false
            // On a busy machine they may have been idle for too long before it is stopped.
            for _ in 0..<100 where !isEarly {
                let start = Clock.seconds
                late = try (0..<4).map { _ in try used() }
                idle = try (0..<20).map { try $0 % 2 == 0 ? binary.connect() : used() }
                // At best it is stopped between sending this and waiting for more.
                let last = try binary.connect()
                try last.sendRequest("GET", Clocks.url)
                _ = try last.receive()
                try binary.process.suspend()
                isEarly = Clock.seconds - start < 1.5
                if !isEarly { binary.process.send(SIGCONT) }
            }
            #expect(isEarly)
            #expect(Wait.keeps(for: 0.4) { !late.contains { $0.hasInput } })
            // What is sent now has come long before the proxy looks at how long its connections were idle.
            for client in late { try client.sendRequest("GET", Clocks.url) }
            #expect(Wait.keeps(for: 3) { !(idle + late + [tunnel, waiting]).contains { $0.hasInput } })
            binary.process.send(SIGCONT)
            for client in late { #expect(try client.receiveResponse().text == "x") }
            // An orderly end, not a reset, of those that have asked for nothing.
            for client in idle { #expect(try client.receive().isEmpty) }
            mayAnswer.add()
            #expect(try waiting.receiveResponse().text == "forwarded")
            try tunnel.send("through")
            #expect(try tunnel.receive(exactly: 7) == Array("through".utf8))
            #expect(try binary.get(Clocks.url).text == "x")
        }
    }
}
