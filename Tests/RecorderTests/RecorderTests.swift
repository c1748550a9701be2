import Archives
import Basics
import ForwardProxy
import Glibc
import NIOCore
import ProxyTestKit
import Synchronization
import Testing

@testable import Recorder

@Suite("A recorder", .onThreads)
struct RecorderTests {
    private let folder = TemporaryFolder()

    private func output(_ name: String) -> RecorderOptions.Output {
        let path = folder.at(name)
        if name.hasSuffix(".har") { return .har(path) }
        if name.contains(".warc") { return .warc(path, isCompressed: name.hasSuffix(".gz")) }
        return .folder(path)
    }

    /// A recorder for what another one has written. Processes that other tests start hold its lock until they execute
    /// their programs.
    private func reopened(_ name: String) throws -> Recorder {
        var recorder: Recorder?
        try Wait.until {
            do throws(RecorderFailure) { recorder = try Recorder(RecorderOptions(output(name))) } catch {
                guard error == .busy else { throw error }
            }
            return recorder != nil
        }
        return try #require(recorder)
    }

    private static let names = ["r", "r.har", "r.warc", "r.warc.gz"]

    @Test("writes exchanges in their order, which are read as they were, and goes on another time", arguments: names)
    func roundTrip(name: String) throws {
        let first = try Recorder(RecorderOptions(output(name)))
        first.record(exchange("http://a.test/1", fields: [("Content-Type", "text/plain")]), "one")
        first.record(
            exchange(
                "http://b.test/2", "POST", status: 201,
                fields: [("Content-Type", "text/plain"), ("X-A", "1"), ("x-a", "2")],
                sent: [("Content-Type", "application/json")], requestBody: #"{"a":1}"#), "two")
        first.record(exchange("http://a.test/3", status: 204), "")
        first.flush()
        #expect(first.entryCount == 3)
        let summary = first.finish()
        #expect(summary.entries == 3 && summary.hosts == 2 && summary.bytes == 6 && summary.failure == nil)
        #expect(summary.unrecorded.isEmpty)
        let second = try reopened(name)
        second.record(exchange("http://a.test/4", fields: [("Content-Type", "text/plain")]), "four")
        #expect(second.finish().entries == 1)
        let archive = try openArchive(folder.at(name))
        #expect(archive.table.count == 4 && archive.warnings.isEmpty)
        #expect(try (0..<4).map { try archive.text($0) } == ["one", "two", "", "four"])
        let read = try archive.exchange(1)
        #expect(read.method == "POST" && read.status == 201 && read.url == Array("http://b.test/2".utf8))
        #expect(read.requestBody == Array(#"{"a":1}"#.utf8))
        #expect(read.fields.filter { $0.isNamed("x-a") }.map(\.value) == [Array("1".utf8), Array("2".utf8)])
    }

    @Test("has a file that is whole after each exchange", arguments: names)
    func between(name: String) throws {
        let recorder = try Recorder(RecorderOptions(output(name)))
        for number in 1...5 {
            recorder.record(exchange("http://a.test/\(number)", fields: [("Content-Type", "text/html")]), "\(number)")
            recorder.flush()
            let archive = try openArchive(folder.at(name))
            #expect(archive.table.count == number && archive.warnings.isEmpty)
            #expect(try archive.text(number - 1) == "\(number)")
        }
        _ = recorder.finish()
    }

    @Test("is alone with what it writes", arguments: names)
    func busy(name: String) throws {
        let recorder = try Recorder(RecorderOptions(output(name)))
        #expect(throws: RecorderFailure.busy) { _ = try Recorder(RecorderOptions(output(name))) }
        _ = recorder.finish()
    }

    @Test("fails at its end where somebody has removed, moved, replaced or cut what it wrote", arguments: names)
    func notInPlace(name: String) throws {
        let file = name == "r" ? "r/recording.yaml" : name
        let fates: [(String) -> Void] = [
            { unlink($0) }, { rename($0, $0 + ".old") }, { truncate($0, 0) },
            { path in
                rename(path, path + ".old")
                close(open(path, O_CREAT | O_WRONLY, 0o600))
            },
        ]
        let moveFolder: (String) -> Void = { path in
            let folder = String(path.dropLast("/recording.yaml".count))
            rename(folder, folder + ".old")
        }
        let moveBodies: (String) -> Void = { path in
            let bodies = path.dropLast("recording.yaml".count) + "files"
            rename(String(bodies), bodies + ".old")
        }
        for (number, fate) in (name == "r" ? fates + [moveFolder, moveBodies] : fates).enumerated() {
            let place = "\(number)"
            try #require(mkdir(folder.at(place), 0o700) == 0)
            var options = RecorderOptions(output("\(place)/\(name)"))
            let told = Atomic(0)
            options.whenFailed = { _ in told.add(1, ordering: .relaxed) }
            let recorder = try Recorder(options)
            recorder.record(exchange(fields: [("Content-Type", "text/plain")]), "one")
            recorder.flush()
            fate(folder.at("\(place)/\(file)"))
            let summary = recorder.finish()
            #expect(summary.entries == 0 && summary.hosts == 0 && summary.bytes == 0)
            #expect(summary.unrecorded == ["not written": 1] && told.load(ordering: .relaxed) == 1)
            #expect(summary.failure?.message == "it was removed, moved, replaced or cut while it was recorded")
        }
    }

    @Test("writes nothing behind what somebody has cut meanwhile, and counts none of it", arguments: names)
    func cut(name: String) throws {
        let recorder = try Recorder(RecorderOptions(output(name)))
        let file = folder.at(name == "r" ? "r/recording.yaml" : name)
        for number in 0..<3 {
            recorder.record(exchange("http://a.test/\(number)", fields: [("Content-Type", "text/plain")]), "one")
        }
        recorder.flush()
        // A list may be edited, and get shorter by that; nothing of it is left here.
        let left: off_t = name == "r" ? 0 : 7
        truncate(file, left)
        recorder.record(exchange("http://a.test/last", fields: [("Content-Type", "text/plain")]), "last")
        let summary = recorder.finish()
        #expect(summary.entries == 0 && summary.failure == .gone)
        #expect(summary.unrecorded == ["not written": 4])
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_size == left)
    }

    @Test(
        "goes on behind a list that somebody has edited in its place, shorter, longer or as long, with or without its end"
    )
    func edited() throws {
        let edits = ["# gone\n", "# \(String(repeating: "What was asked for and answered here, ", count: 9))\n", nil]
        for edit in edits {
            for drop in [0, 1] {
                let place = folder.at("\(edit?.count ?? 0)\(drop)")
                let recorder = try Recorder(RecorderOptions(.folder(place)))
                recorder.record(exchange("http://a.test/1", fields: [("Content-Type", "text/plain")]), "one")
                recorder.flush()
                let file = place + "/recording.yaml"
                let list = try FileReading.contents(of: file, upTo: 1 << 20)
                let end = try #require(list.firstIndex(of: 0x0A))
                let entries = list[(end + 1)...].dropLast(drop)
                // As long as it was, also without its end.
                let beginning = edit ?? String(repeating: "#", count: end + drop) + "\n"
                let descriptor = open(file, O_WRONLY | O_TRUNC)
                let bytes = Array(beginning.utf8) + entries
                #expect(write(descriptor, bytes, bytes.count) == bytes.count)
                close(descriptor)
                recorder.record(exchange("http://a.test/2", fields: [("Content-Type", "text/plain")]), "two")
                let summary = recorder.finish()
                #expect(summary.entries == 2 && summary.failure == nil)
                let after = try FileReading.contents(of: file, upTo: 1 << 20)
                #expect(after.starts(with: bytes))
                let lines = String(decoding: after, as: UTF8.self).split(separator: "\n")
                #expect(lines.count { $0.hasPrefix("- ") } == 2)
            }
        }
    }

    @Test("spools long bodies to files that nobody sees", arguments: names)
    func spools(name: String) throws {
        let recorder = try Recorder(RecorderOptions(output(name)))
        var long = exchange("http://a.test/long", fields: [("Content-Type", "text/plain")])
        let spool = recorder.makeSpool(for: PackedExchange(long))
        let taken = Atomic(0)
        let piece = String(repeating: "0123456789abcdef", count: 4096)
        for _ in 0..<32 {
            spool.append(ByteBuffer(string: piece)) { taken.add(1, ordering: .relaxed) }
        }
        // One that is let go of.
        recorder.makeSpool(for: PackedExchange(exchange())).append(ByteBuffer(string: piece)) {}
        recorder.flush()
        #expect(taken.load(ordering: .relaxed) == 32)
        let entries = try ChildProcess.run(["ls", "-A", folder.path]).output
        #expect(entries == "\(name)\n")
        long.body.storedBytes = piece.utf8.count * 32
        #expect(recorder.record(PackedExchange(long), body: .spooled(spool)) {})
        #expect(recorder.finish().bytes == piece.utf8.count * 32)
        #expect(try openArchive(folder.at(name)).text(0) == String(repeating: piece, count: 32))
    }

    /// How many files without a name in the folder this process has open.
    private func namelessCount() throws -> Int {
        let listed = try ChildProcess.run(["sh", "-c", "ls -l /proc/\(getpid())/fd"]).output
        return listed.split(separator: "\n").count { $0.contains(folder.path) && $0.hasSuffix("(deleted)") }
    }

    @Test("closes a spool on its own thread, whoever lets go of it")
    func releasing() throws {
        let recorder = try Recorder(RecorderOptions(output("r.warc")))
        let (started, gate) = (Gate(), Gate())
        do {
            let spool = recorder.makeSpool(for: PackedExchange(exchange()))
            spool.append(ByteBuffer(string: "x")) {}
            recorder.flush()
            #expect(try namelessCount() == 1)
            recorder.makeSpool(for: PackedExchange(exchange())).append(ByteBuffer(string: "x")) {
                started.open()
                gate.wait()
            }
            started.wait()
            #expect(try namelessCount() == 2)
            withExtendedLifetime(spool) {}
        }
        // The writer's thread waits in the midst of its work.
        #expect(try namelessCount() == 2)
        gate.open()
        recorder.flush()
        try Wait.until { try namelessCount() == 0 }
        _ = recorder.finish()
    }

    @Test("makes a long body's own file one of the recording's, once for equal bodies", arguments: [false, true])
    func linking(isPrivate: Bool) throws {
        var options = RecorderOptions(output("r"))
        if isPrivate { options.redaction = nil }
        let recorder = try Recorder(options)
        let text = String(repeating: "0123456789abcdef", count: 40_000)
        for number in 1...2 {
            var long = exchange("http://a.test/\(number)", fields: [("Content-Type", "text/plain")])
            let spool = recorder.makeSpool(for: PackedExchange(long))
            spool.append(ByteBuffer(string: text)) {}
            long.body.storedBytes = text.utf8.count
            #expect(recorder.record(PackedExchange(long), body: .spooled(spool)) {})
        }
        #expect(recorder.finish().entries == 2)
        var status = stat()
        #expect(stat(folder.at("r/files/a.test/1.txt"), &status) == 0)
        var other = stat()
        #expect(stat(folder.at("r/substitutions.yaml"), &other) == 0)
        #expect(status.st_mode == other.st_mode && status.st_nlink == 1)
        #expect(!isPrivate || status.st_mode & 0o777 == 0o600)
        #expect(stat(folder.at("r/files/a.test/2.txt"), &status) != 0)
        let archive = try openArchive(folder.at("r"))
        #expect(try archive.text(0) == text && archive.text(1) == text)
    }

    @Test("takes what is named out of a long body too", arguments: names)
    func longRedaction(name: String) throws {
        var options = RecorderOptions(output(name))
        options.redaction = Redaction(names: [Redaction.standardName, "pin"])
        let recorder = try Recorder(options)
        let text = #"{"pin":"planted","a":""# + String(repeating: "x", count: 300_000) + #""}"#
        var long = exchange(
            "http://a.test/", fields: [("Content-Type", "application/json"), ("Set-Cookie", "a=planted")])
        let spool = recorder.makeSpool(for: PackedExchange(long))
        spool.append(ByteBuffer(string: text)) {}
        long.body.storedBytes = text.utf8.count
        #expect(recorder.record(PackedExchange(long), body: .spooled(spool)) {})
        #expect(recorder.finish().entries == 1)
        let archive = try openArchive(folder.at(name))
        #expect(try archive.text(0) == text.replacing("planted", with: "REDACTED"))
        #expect(try archive.exchange(0).fields.contains(RecordedField("Set-Cookie", "a=REDACTED")))
    }

    @Test("bounds what waits to be written, by bytes and by number, and has exchanges go on when there is room")
    func bounds() throws {
        // The one that takes the last room is held, and then each.
        for (size, most) in [(1 << 20, 8 + 2), (0, 1024 + 2)] {
            let recorder = try Recorder(RecorderOptions(output("\(size).warc")))
            let (started, gate) = (Gate(), Gate())
            // The writer's thread waits in the midst of its work.
            recorder.makeSpool(for: PackedExchange(exchange())).append(ByteBuffer(string: "x")) {
                started.open()
                gate.wait()
            }
            started.wait()
            let body = String(repeating: "x", count: size)
            let wentOn = Atomic(0)
            var (accepted, held) = (0, 0)
            while held < 3, accepted < 2 * most {
                var next = exchange("http://a.test/\(accepted)")
                next.body.storedBytes = size
                accepted += 1
                if !recorder.record(
                    PackedExchange(next), body: pieces(body), goOn: { wentOn.add(1, ordering: .relaxed) })
                {
                    held += 1
                }
            }
            #expect(held == 3 && accepted == most)
            #expect(wentOn.load(ordering: .relaxed) == 0)
            gate.open()
            #expect(recorder.finish().entries == accepted)
            #expect(wentOn.load(ordering: .relaxed) == 3)
        }
    }

    @Test("counts and lets go of the rest where nothing can be written any more, and says it once")
    func failures() throws {
        var options = RecorderOptions(.folder(folder.at("r")))
        let said = Mutex<[RecorderFailure]>([])
        options.whenFailed = { failure in said.withLock { $0.append(failure) } }
        let recorder = try Recorder(options)
        recorder.record(exchange("http://a.test/1"), "one")
        recorder.flush()
        #expect(try ChildProcess.run(["rm", "-r", folder.at("r")]).status == 0)
        for number in 2...4 { #expect(recorder.record(exchange("http://a.test/\(number)"), "\(number)")) }
        recorder.flush()
        // Nobody waits for a disk that takes nothing.
        let taken = Gate()
        recorder.makeSpool(for: PackedExchange(exchange())).append(ByteBuffer(string: "x")) { taken.open() }
        taken.wait()
        #expect(recorder.record(exchange("http://a.test/5"), "five"))
        recorder.passOver(.upgraded)
        let summary = recorder.finish()
        // The first is gone with the folder.
        #expect(summary.entries == 0 && summary.bytes == 0 && summary.failure == .gone)
        #expect(summary.unrecorded == ["not written": 5, "upgraded": 1])
        #expect(said.withLock { $0.count } == 1)
        // After the end too.
        #expect(recorder.record(exchange("http://a.test/6"), "six"))
    }

    @Test("fails where no spool can be made, and takes the bytes nevertheless")
    func spoolFailure() throws {
        let path = folder.at("sub")
        #expect(mkdir(path, 0o700) == 0)
        let recorder = try Recorder(RecorderOptions(.har("\(path)/r.har")))
        #expect(try ChildProcess.run(["rm", "-r", path]).status == 0)
        let taken = Gate()
        let spool = recorder.makeSpool(for: PackedExchange(exchange()))
        spool.append(ByteBuffer(string: "x")) { taken.open() }
        taken.wait()
        #expect(recorder.record(PackedExchange(exchange()), body: .spooled(spool)) {})
        let summary = recorder.finish()
        #expect(summary.failure != nil && summary.unrecorded == ["not written": 1])
    }

    @Test("counts tunnels by their host and port")
    func tunnels() throws {
        let recorder = try Recorder(RecorderOptions(output("r")))
        for _ in 0..<2 { recorder.noteTunnel(host: "a.test", port: 443) }
        recorder.noteTunnel(host: "a.test", port: 8443)
        #expect(recorder.finish().tunnels == ["a.test:443": 2, "a.test:8443": 1])
    }

    @Test("takes credentials out of what it writes, in each format", arguments: names)
    func redaction(name: String) throws {
        let recorder = try Recorder(RecorderOptions(output(name)))
        let encoded = "user=u&password=planted-5"
        recorder.record(
            exchange(
                "http://a.test/?token=planted-1&page=2", "POST",
                fields: [("Set-Cookie", "sid=planted-2; Path=/"), ("Location", "/x?sig=planted-3")],
                sent: [
                    ("Cookie", "planted-4"), ("Content-Type", "application/x-www-form-urlencoded"),
                    ("Content-Length", "\(encoded.utf8.count)"), ("Authorization", "Bearer planted-6"),
                ], requestBody: encoded), "")
        _ = recorder.finish()
        let found = try ChildProcess.run(["sh", "-c", "cat \(folder.at(name)) 2>/dev/null || cat \(folder.at(name))/*"])
        let text =
            name.hasSuffix("gz") ? try ChildProcess.run(["zcat", folder.at(name)]).output : found.output
        #expect(!text.contains("planted"), "\(text)")
        #expect(text.contains("REDACTED") && text.contains("page=2") && text.contains("Path=/"))
        let read = try openArchive(folder.at(name)).exchange(0)
        #expect(read.requestBody == Array("user=u&password=REDACTED".utf8))
        if let length = read.requestFields.first(where: { $0.isNamed("content-length") }) {
            #expect(length.value == Array("24".utf8))
        }
    }
}
