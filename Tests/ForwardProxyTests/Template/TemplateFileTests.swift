import Files
import Glibc
import ProxyTestKit
import Testing

@testable import ForwardProxy

@Suite struct TemplateFileTests {
    private let folder = TemporaryFolder()

    private var file: TemplateFile {
        TemplateFile(folder: FolderRoot(path: folder.path), path: Array("page.html".utf8), text: nil)
    }

    /// Gives a file another time of modification, as touch(1) does.
    private func touch(_ name: String, seconds: Int) {
        let time = timespec(tv_sec: seconds, tv_nsec: 0)
        _ = [time, time].withUnsafeBufferPointer { utimensat(AT_FDCWD, folder.at(name), $0.baseAddress, 0) }
    }

    @Test func `A page stays the same while its files say the same, whatever their times`() throws {
        try folder.write("page.html", "one {{> part}}")
        try folder.write("part.html", "two")
        let file = file
        let first = try file.page().number
        for seconds in 1...3 {
            touch("page.html", seconds: seconds)
            touch("part.html", seconds: seconds)
            #expect(try file.page().number == first)
        }
        // As long as before.
        try folder.write("part.html", "six")
        let second = try file.page().number
        #expect(second != first && file.glance(0)?.number == second)
        unlink(folder.at("part.html"))
        let third = try? file.page().number
        #expect(third != second)
        try folder.write("part.html", "six")
        #expect(try file.page().number != second)
    }
}
