import Archives
import Glibc
import NIOCore
import ProxyTestKit
import Testing

@testable import Recorder

@Suite("A file that entries are appended to")
struct AppendedFileTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.at("f") }

    private func text() throws -> String { String(decoding: try contents(path), as: UTF8.self) }

    @Test("has its entries one behind the other, and its tail behind the last")
    func appending() throws {
        let file = try AppendedFile(path, isPrivate: false, tail: Array("]".utf8))
        try file.begin(Array("[".utf8))
        #expect(try text() == "[]" && file.entryCount == 0)
        try file.gather { $0 += Array("a".utf8) }
        try file.gather { $0 += Array(",b".utf8) }
        #expect(try text() == "[]")
        try file.append { () throws(RecorderFailure) in
            try file.write(Array(",c".utf8))
            try file.write(Array("d".utf8))
        }
        #expect(try text() == "[a,b,cd]" && file.entryCount == 3)
        try file.gather { $0 += Array(",e".utf8) }
        try file.writeGathered()
        try file.writeGathered()
        #expect(try text() == "[a,b,cd,e]" && file.entryCount == 4)
    }

    @Test("goes on behind what is there")
    func goingOn() throws {
        try folder.write("f", "[a]")
        let file = try AppendedFile(path, isPrivate: false, tail: Array("]".utf8))
        #expect(file.size == 3 && file.last(2) == Array("a]".utf8) && file.last(99).count == 3)
        #expect(file.first(2) == Array("[a".utf8) && file.first(99).count == 3)
        try file.gather { $0 += Array(",b".utf8) }
        try file.writeGathered()
        #expect(try text() == "[a,b]")
    }

    @Test("is gone where somebody has written it anew in its place, longer too", arguments: ["[ab, cd, ef]", "[]"])
    func writtenAnew(_ anew: String) throws {
        try folder.write("f", "[a,b]")
        let file = try AppendedFile(path, isPrivate: false, tail: Array("]".utf8))
        #expect(try file.isInPlace())
        let descriptor = open(path, O_WRONLY | O_TRUNC)
        #expect(write(descriptor, anew, anew.utf8.count) == anew.utf8.count)
        close(descriptor)
        try file.gather { $0 += Array(",c".utf8) }
        #expect(throws: RecorderFailure.gone) { try file.writeGathered() }
        #expect(try text() == anew && !file.isInPlace())
    }

    @Test("writes entries that were gathered once they are many")
    func gathering() throws {
        let file = try AppendedFile(path, isPrivate: false)
        let entry = [UInt8](repeating: 0x78, count: AppendedFile.gatheredMost / 4)
        for _ in 0..<5 { try file.gather { $0 += entry } }
        #expect(file.entryCount == 4)
        #expect(try contents(path).count == AppendedFile.gatheredMost)
    }

    @Test("is as it was where an entry can't be written, however much of it was", arguments: [0, 10, 1 << 20])
    func restoring(written: Int) throws {
        let file = try AppendedFile(path, isPrivate: false, tail: Array("\n]}".utf8))
        try file.begin(Array("[a".utf8))
        #expect(throws: RecorderFailure.system("full")) {
            try file.append { () throws(RecorderFailure) in
                try file.write([UInt8](repeating: 0x78, count: written))
                throw .system("full")
            }
        }
        #expect(try text() == "[a\n]}" && file.entryCount == 0)
        try file.append { () throws(RecorderFailure) in try file.write(Array(",b".utf8)) }
        #expect(try text() == "[a,b\n]}" && file.entryCount == 1)
    }

    @Test("is empty again where its first bytes can't be written")
    func restoringEmpty() throws {
        let file = try AppendedFile(path, isPrivate: false, tail: Array("\n]}".utf8))
        #expect(throws: RecorderFailure.system("full")) {
            try file.append { () throws(RecorderFailure) in
                try file.write(Array("[a".utf8))
                throw .system("full")
            }
        }
        #expect(try text() == "")
    }

    @Test("has a spooled body behind what was written of its entry")
    func spooled() throws {
        let file = try AppendedFile(path, isPrivate: false, tail: Array("]".utf8))
        try file.begin(Array("[".utf8))
        let spool = try SpoolFile(in: folder.path, mode: 0o600)
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try spool.append(ByteBuffer(bytes: body))
        try file.append { () throws(RecorderFailure) in
            try file.write(Array("a".utf8))
            try file.write(spool)
            try file.write(Array("b".utf8))
        }
        #expect(try contents(path) == Array("[a".utf8) + body + Array("b]".utf8))
        // A file system that the kernel doesn't copy to.
        let other = try AppendedFile(folder.at("other"), isPrivate: false)
        try other.append { () throws(RecorderFailure) in try other.copy(spool, from: 100_000) }
        #expect(try contents(folder.at("other")) == Array(body[100_000...]))
    }

    @Test("is for one recorder, and for its owner alone where nothing is taken out")
    func locking() throws {
        try folder.write("f", "x")
        #expect(chmod(path, 0o644) == 0)
        let file = try AppendedFile(path, isPrivate: true)
        try file.makePrivate()
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(throws: RecorderFailure.busy) { _ = try AppendedFile(path, isPrivate: false) }
        #expect(file.size == 1)
    }

    @Test("is no link, and none that can't be made, which is told as what it is")
    func links() throws {
        #expect(symlink("/dev/null", path) == 0)
        #expect(throws: RecorderFailure.system("\(path): Too many levels of symbolic links")) {
            _ = try AppendedFile(path, isPrivate: false)
        }
        #expect(throws: RecorderFailure.self) { _ = try AppendedFile(folder.at("none/f"), isPrivate: false) }
    }

    @Test("is refused where it is in another form")
    func forms() throws {
        func failure(_ name: String, _ text: String) throws -> RecorderFailure? {
            let path = try folder.write(name, text)
            let output: RecorderOptions.Output =
                name.hasSuffix("har") ? .har(path) : .warc(path, isCompressed: name.hasSuffix("gz"))
            do throws(RecorderFailure) { _ = try Recorder(RecorderOptions(output)).finish() } catch { return error }
            return nil
        }
        #expect(try failure("a.har", #"{"log":{"entries":[],"pages":[]}}"#) == .otherForm)
        #expect(try failure("d.har", #"{"log":{"pages":[]}}"#) == .otherForm)
        #expect(try failure("e.har", #"{"log":{"entries": [ ] } }"#) == nil)
        #expect(try failure("f.har", #"{"log":{},"x":{"entries":[]}}"#) == .otherForm)
        #expect(try failure("g.har", #"{"log":{"x":{"entries":[]}}}"#) == .otherForm)
        #expect(try failure("h.har", #"{"\"":"log","log":{"x":["entries",[]],"entries":[]}}"#) == nil)
        #expect(try failure("b.har", "{\"log\":{\"entries\":[1\n]}}\n") == .otherForm)
        #expect(try failure("a.warc.gz", "WARC/1.1\r\n") == .otherForm)
        #expect(try failure("c.har", "") == nil && failure("b.warc", "") == nil)
    }
}
