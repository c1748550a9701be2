import Foundation
import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Recorders that are killed, disks that are full, and bodies that are large.
    @Suite("Faults of recording")
    struct RecordFaults {
        private static let kinds = ["r", "r.har", "r.warc", "r.warc.gz"]
        /// How often a recorder of each kind is killed; more by hand, with SUBPROXY_KILLS in the environment.
        private static let kills = (getenv("SUBPROXY_KILLS").flatMap { Int(String(cString: $0)) } ?? 16) / 4

        private func entries(_ path: String) throws -> [String] {
            let listed = try SubproxyProcess.run(["archive", "list", path])
            return listed.output.split(separator: "\n").map(String.init)
        }

        @Test("Killed at any moment, each complete entry is readable, and --update goes on", arguments: kinds)
        func randomKills(name: String) throws {
            let folder = TemporaryFolder()
            let path = folder.at(name)
            let origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                let size = Int(request.target.split(separator: "-").last ?? "") ?? 0
                try connection.respond(
                    fields: "Content-Type: text/plain\r\n", body: String(repeating: "x", count: size))
                return true
            }
            var known: [String] = []
            for round in 0..<Self.kills {
                let binary = try RunningBinary(command: ["record", "-o", path, "--update"])
                let answered = Counter()
                let isOver = Counter()
                let ended = Counter()
                for thread in 0..<3 {
                    Threads.start {
                        for number in 0..<10_000 where isOver.value == 0 {
                            let size = [10, 3000, 70_000, 400_000][(number + thread) % 4]
                            let url = "http://127.0.0.1:\(origin.port)/\(round)-\(thread)-\(number)-\(size)"
                            let body = number % 5 == 0 ? String(repeating: "z", count: size / 8) : nil
                            guard
                                let response = try? binary.exchange(body == nil ? "GET" : "POST", url, body: body),
                                response.body.count == size
                            else { break }
                            answered.add()
                        }
                        ended.add()
                    }
                }
                // At once, or in the midst of it.
                if round > 0 { try Wait.until { answered.value >= 20 || ended.value == 3 } }
                usleep(.random(in: 0..<200_000))
                binary.process.send(SIGKILL)
                #expect(try binary.process.finish() == 128 + SIGKILL)
                isOver.add()
                try Wait.until { ended.value == 3 }
                guard access(path, F_OK) == 0 else { continue }
                let check = try SubproxyProcess.run(["check", path])
                let listed = try entries(path)
                let isEmpty = listed.isEmpty && known.isEmpty
                #expect(check.status == 0 || isEmpty, "\(check.output) \(check.error)")
                #expect(Array(listed.prefix(known.count)) == known, "what was there stays")
                #expect(!check.error.contains(" error:") || isEmpty)
                known = listed
            }
            let last = try RunningBinary(command: ["record", "-o", path, "--update"])
            #expect(try last.get("http://127.0.0.1:\(origin.port)/last-5").text == "xxxxx")
            last.process.send(SIGTERM)
            #expect(try last.process.finish() == 0, "\(last.process.error)")
            let check = try SubproxyProcess.run(["check", "--strict", path])
            #expect(check.status == 0 && check.error.isEmpty, "\(check.error)")
            #expect(try entries(path).count == known.count + 1)
        }

        @Test("Cut off in its first entry, a file is recorded anew", arguments: ["r.har", "r.warc", "r.warc.gz"])
        func firstEntry(name: String) throws {
            let folder = TemporaryFolder()
            let path = folder.at(name)
            let origin = try ScriptedOrigin(fields: "Content-Type: text/plain\r\n", body: "hello")
            func record() throws -> SubproxyProcess.Finished {
                try SubproxyProcess.run([
                    "record", "-o", path, "--", "curl", "--disable", "-sS", "http://127.0.0.1:\(origin.port)/",
                ])
            }
            #expect(try record().output == "hello")
            let whole = try Data(contentsOf: URL(filePath: path))
            let steps = 6
            for step in 0..<steps {
                let cut = step * (whole.count - 30) / steps
                try Data(whole.prefix(cut)).write(to: URL(filePath: path))
                let again = try record()
                #expect(again.status == 0 && again.output == "hello", "\(cut): \(again.error)")
                #expect(again.error.hasPrefix("subproxy: recorded 1 exchange"), "\(cut): \(again.error)")
                let check = try SubproxyProcess.run(["check", "--strict", path])
                #expect(check.status == 0 && check.error.isEmpty, "\(cut): \(check.error)")
            }
            // What is of others is left alone.
            try folder.write(name, "{\"log\":{\"entries\":[{\"req")
            #expect(try record().status == 65)
        }

        @Test("A list that can't be put into its order is told, stays whole, and makes the exit code 74")
        func unsorted() throws {
            let folder = TemporaryFolder()
            let origin = try ScriptedOrigin(fields: "Content-Type: text/plain\r\n", body: "x")
            let url = "http://127.0.0.1:\(origin.port)"
            let curl = "curl --disable -sS -o /dev/null --max-time 300 -H 'Sec-Fetch-Mode: cors'"
            for (name, options) in [("r", []), ("s", ["--mode", "all"])] as [(String, [String])] {
                let part = "\(options.isEmpty ? name : name + ".new")/recording.yaml.recording-part"
                for (ending, status) in [("true", 74), ("exit 3", 3)] as [(String, Int32)] {
                    _ = try ChildProcess.run(["rm", "-rf", folder.at(name)])
                    let finished = try SubproxyProcess.run(
                        ["record", "-o", name] + options + [
                            "--", "sh", "-c", "\(curl) \(url)/b; \(curl) \(url)/a; mkdir \(part); \(ending)",
                        ], folder: folder.path)
                    #expect(finished.status == status)
                    #expect(
                        finished.errorLines == [
                            "subproxy: error: the entries of '\(name)/' can't be put into their order: File exists; they are "
                                + "whole, in the order in which they were answered; --mode all records anew",
                            "subproxy: recorded 2 exchanges of 1 host (2 bytes) to \(name)/",
                        ], "\(finished.error)")
                    #expect(
                        try folder.text(of: "\(name)/recording.yaml").split(separator: "\n").filter {
                            $0.contains("url:")
                        }
                            == ["- url: \(url)/b", "- url: \(url)/a"])
                }
            }
        }

        @Test(
            "A full disk ends the recording with one line, and no exchange fails for it",
            .kernel(SmallDisk.isAvailable, "a file system of its own"), arguments: kinds)
        func fullDisk(name: String) throws {
            let disk = try SmallDisk()
            let path = "\(disk.path)/\(name)"
            let origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                var generator = SystemRandomNumberGenerator()
                let size = Int(request.target.dropFirst()) ?? 0
                // No two are one file, and none is compressed.
                var body = [UInt8](repeating: 0, count: size)
                for index in body.indices { body[index] = UInt8.random(in: 0...255, using: &generator) }
                try connection.socket.send(
                    "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: \(size)\r\n\r\n")
                try connection.socket.send(body)
                return true
            }
            let binary = try RunningBinary(command: ["record", "-o", path], wrapper: disk.wrapper)
            func get(_ size: Int) throws {
                let response = try binary.get("http://127.0.0.1:\(origin.port)/\(size)")
                #expect(response.status == 200 && response.body.count == size && response.isComplete)
            }
            for _ in 0..<4 { try get(1000) }
            try Wait.until { try self.entries(path, disk).count == 4 }
            for size in [200_000, 300_000, 500_000, 600_000, 1000, 700_000] { try get(size) }
            binary.process.send(SIGTERM)
            #expect(try binary.process.finish() == 74)
            let lines = binary.process.error.split(separator: "\n")
            let shown = name == "r" ? path + "/" : path
            #expect(
                lines.filter { $0.hasPrefix("subproxy: error: ") }.map { String($0.prefix { $0 != "," }) }
                    == ["subproxy: error: '\(shown)' can't be written"], "\(lines)")
            #expect(lines.contains { $0.contains("No space left on device") })
            #expect(lines.last?.contains(" were not recorded: ") == true && lines.last?.contains("not written") == true)
            let check = try ChildProcess.run(disk.wrapper + [RunningBinary.path, "check", "--strict", path])
            #expect(check.status == 0, "\(check.output) \(check.error)")
            #expect(try entries(path, disk).count >= 4)
        }

        @Test(
            "A disk that gets full while much is recorded has all entries for which there was room",
            .kernel(SmallDisk.isAvailable, "a file system of its own"), arguments: kinds)
        func fullDiskUnderLoad(name: String) throws {
            let disk = try SmallDisk()
            let path = "\(disk.path)/\(name)"
            let origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                var generator = SystemRandomNumberGenerator()
                let body = (0..<1500).map { _ in String(UInt8.random(in: 16...255, using: &generator), radix: 16) }
                try connection.respond(fields: "Content-Type: text/plain\r\n", body: body.joined())
                return true
            }
            let binary = try RunningBinary(command: ["record", "-o", path], wrapper: disk.wrapper)
            let ended = Counter()
            let answered = Counter()
            for thread in 0..<4 {
                Threads.start {
                    // More than the disk has room for.
                    for number in 0..<250 {
                        let url = "http://127.0.0.1:\(origin.port)/\(thread)-\(number)"
                        if (try? binary.get(url))?.body.count == 3000 { answered.add() }
                    }
                    ended.add()
                }
            }
            try Wait.until { ended.value == 4 }
            #expect(answered.value == 1000)
            binary.process.send(SIGTERM)
            #expect(try binary.process.finish() == 74)
            let check = try ChildProcess.run(disk.wrapper + [RunningBinary.path, "check", "--strict", path])
            #expect(check.status == 0, "\(check.output) \(check.error)")
            let count = try entries(path, disk).count
            #expect(count >= 20 && count < 1000)
            #expect(
                binary.process.error.contains("recorded \(count) exchanges")
                    && binary.process.error.contains("\(1000 - count) not written"), "\(count): \(binary.process.error)"
            )
        }

        private func entries(_ path: String, _ disk: SmallDisk) throws -> [Substring] {
            try ChildProcess.run(disk.wrapper + [RunningBinary.path, "archive", "list", path]).output
                .split(separator: "\n")
        }

        @Test(
            "A disk that hangs holds exchanges up, in bounded memory, and none is lost, whole or in part",
            .program("strace", of: "strace"), .kernel(FaultInjection.isAllowed, "leave to trace a process"),
            arguments: [(false, 200_000), (true, 200_000), (false, 600_000)])
        func hangingDisk(isPost: Bool, size: Int) throws {
            let folder = TemporaryFolder()
            let path = folder.at("r.warc")
            let origin = try ScriptedOrigin { request, connection in
                let request = try connection.readBody(of: request, isKept: false)
                let number = request.target.dropFirst()
                let body = "\(number) " + String(repeating: "x", count: size - number.utf8.count - 1)
                try connection.respond(fields: "Content-Type: text/plain\r\n", body: body)
                return true
            }
            let port = origin.port
            @Sendable func url(_ number: Int) -> String { "http://127.0.0.1:\(port)/\(number)" }
            let binary = try RunningBinary(command: ["record", "-o", path])
            for number in 0..<8 { #expect(try binary.get(url(number)).body.count == size) }
            try Wait.until { try self.entries(path).count == 8 }
            let before = binary.residentBytes
            // What waits on the disk is 8 MiB at most, and what is on its way; that all of it waits would be 80 MB.
            let (threads, perThread) = (8, 50)
            let injection = try FaultInjection(into: binary.process, [FaultInjection.holding("pwrite64")])
            let (answered, ended) = (Counter(), Counter())
            for thread in 0..<threads {
                Threads.start {
                    for number in 0..<perThread {
                        // A connection of its own for each: nothing but the response holds the next one up.
                        let url = url(1000 + thread * perThread + number)
                        let response = try? binary.exchange(
                            isPost ? "POST" : "GET", url, body: isPost ? "a" : nil, seconds: 600)
                        guard let response, response.isComplete, response.body.count == size else { break }
                        answered.add()
                    }
                    ended.add()
                }
            }
            try Wait.until { answered.value >= 8 || injection.hasBegun("pwrite64") }
            let most = (8 << 20) / min(size, 200_000) + 2 * threads
            // Long enough to be far beyond it, were they not held up; that they are is true at any speed.
            _ = Wait.holds(within: 5) { answered.value > 2 * most }
            #expect(answered.value <= most, "\(answered.value) of \(threads * perThread)")
            #expect(binary.residentBytes - before < 40 * mebibyte, "\((binary.residentBytes - before) >> 20) MiB")
            try injection.end()
            try Wait.until(seconds: 4 * Wait.limit) { ended.value == threads }
            #expect(answered.value == threads * perThread)
            binary.process.send(SIGTERM)
            #expect(try binary.process.finish(seconds: 2 * Wait.limit) == 0, "\(binary.process.error)")
            let count = 8 + threads * perThread
            #expect(binary.process.error.contains("recorded \(count) exchanges of 1 host"), "\(binary.process.error)")
            let listed = try entries(path)
            #expect(listed.count == count && listed.allSatisfy { $0.contains(" text/plain \(size) ") })
            let check = try SubproxyProcess.run(["check", "--strict", path])
            #expect(check.status == 0 && check.error.isEmpty, "\(check.error)")
        }

        @Test("A body of 100 MiB is recorded in bounded memory", arguments: ["r", "r.har", "r.warc"])
        func memory(name: String) throws {
            let size = 100 << 20
            let origin = try ScriptedOrigin { request, connection in
                let count = request.target == "/small" ? 65_536 : size
                try connection.socket.send(
                    "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: \(count)\r\n\r\n")
                let block = [UInt8](repeating: 0x61, count: 65_536)
                for _ in 0..<(count / block.count) { try connection.socket.send(block) }
                return true
            }
            let folder = TemporaryFolder()
            let path = folder.at(name)
            let binary = try RunningBinary(command: ["record", "-o", path])
            for _ in 0..<20 { #expect(try binary.get("http://127.0.0.1:\(origin.port)/small").body.count == 65_536) }
            let before = binary.residentBytes
            let client = try binary.connect()
            try client.sendRequest("GET", "http://127.0.0.1:\(origin.port)/big")
            #expect(try client.receiveResponseHead().status == 200)
            var received = 0
            let peak = try binary.peakResidentBytes {
                received += try client.receive(1 << 20).count
                return received < size
            }
            #expect(peak - before < 12 * mebibyte)
            binary.process.send(SIGTERM)
            let last = binary.peakResidentBytes {
                usleep(1000)
                return binary.process.status == nil
            }
            #expect(last - before < 12 * mebibyte)
            #expect(try binary.process.finish() == 0)
            #expect(binary.process.error.contains("recorded 21 exchanges"))
            let number = name == "r" ? "http://127.0.0.1:\(origin.port)/big" : "21"
            let length = try ChildProcess.run(
                ["sh", "-c", "\(RunningBinary.path) archive cat \(path) \(number) | wc -c"]
            ).output
            #expect(length.filter(\.isNumber) == "\(size)")
        }
    }
}
