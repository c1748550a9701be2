import Archives
import Glibc
import ProxyTestKit
import Testing

@testable import Recorder

@Suite("A file that entries are appended to")
struct AppendedFileTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.at("f") }

    private func text() throws -> String { String(decoding: try contents(path), as: UTF8.self) }

    @Test("has what was written, over its tail where that is said")
    func appending() throws {
        let file = try AppendedFile(path, isPrivate: false)
        try file.append(at: 0) { () throws(RecorderFailure) in try file.write(Array("[a]".utf8)) }
        try file.append(at: 2) { () throws(RecorderFailure) in
            try file.write(Array(",b".utf8))
            try file.write(Array("]".utf8))
        }
        #expect(try text() == "[a,b]" && file.end == 5)
        #expect(file.tail(2) == Array("b]".utf8) && file.tail(99).count == 5 && file.beginning(2) == Array("[a".utf8))
    }

    @Test("is as it was where an entry can't be written, however much of it was", arguments: [0, 10, 1 << 20])
    func restoring(written: Int) throws {
        let file = try AppendedFile(path, isPrivate: false)
        try file.append(at: 0) { () throws(RecorderFailure) in try file.write(Array("[a\n]}".utf8)) }
        #expect(throws: RecorderFailure.system("full")) {
            try file.append(at: 2, restoring: Array("\n]}".utf8)) { () throws(RecorderFailure) in
                try file.write([UInt8](repeating: 0x78, count: written))
                throw .system("full")
            }
        }
        #expect(try text() == "[a\n]}" && file.end == 5)
        try file.append(at: 2) { () throws(RecorderFailure) in try file.write(Array(",b\n]}".utf8)) }
        #expect(try text() == "[a,b\n]}")
    }

    @Test("is for one recorder, and for its owner alone where nothing is taken out")
    func locking() throws {
        try folder.write("f", "x")
        #expect(chmod(path, 0o644) == 0)
        let file = try AppendedFile(path, isPrivate: true)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(throws: RecorderFailure.busy) { _ = try AppendedFile(path, isPrivate: false) }
        #expect(file.end == 1)
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
        #expect(try failure("a.har", #"{"log":{"entries":[]}}"#) == .otherForm)
        #expect(try failure("b.har", "{\"log\":{\"entries\":[1\n]}}\n") == .otherForm)
        #expect(try failure("a.warc.gz", "WARC/1.1\r\n") == .otherForm)
        #expect(try failure("c.har", "") == nil && failure("b.warc", "") == nil)
    }
}
