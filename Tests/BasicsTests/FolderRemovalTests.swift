import Basics
import Glibc
import ProxyTestKit
import Testing

@Suite("Removing a folder")
struct FolderRemovalTests {
    private let folder = TemporaryFolder()

    @Test("takes all that is in it, a hundred folders deep and whatever its names are")
    func all() throws {
        var path = folder.at("top")
        mkdir(path, 0o755)
        for _ in 0..<100 {
            path += "/d"
            #expect(mkdir(path, 0o755) == 0)
        }
        // Names need not be UTF-8.
        let name = Array("\(path)/".utf8CString.dropLast()) + [CChar(bitPattern: 0xFF), 0]
        let file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600 as mode_t)
        #expect(file >= 0)
        close(file)
        #expect(FolderRemoval.remove(folder.at("top")))
        #expect(FolderRemoval.names(in: folder.path).isEmpty)
        #expect(FolderRemoval.remove(folder.at("top")))
    }

    @Test("leaves what is too deep")
    func depth() {
        var path = folder.at("top")
        mkdir(path, 0o755)
        for _ in 0..<600 {
            path += "/d"
            #expect(mkdir(path, 0o755) == 0)
        }
        #expect(!FolderRemoval.remove(folder.at("top")))
        #expect(FolderRemoval.listedNames(in: path)?.isEmpty == true)
        #expect(FolderRemoval.listedNames(in: folder.at("none")) == nil)
    }

    @Test("removes links, and leaves what they lead to")
    func links() throws {
        mkdir(folder.at("kept"), 0o755)
        try folder.write("kept/file", "x")
        mkdir(folder.at("top"), 0o755)
        #expect(symlink(folder.at("kept"), folder.at("top/link")) == 0)
        #expect(symlink(folder.at("kept"), folder.at("link")) == 0)
        #expect(FolderRemoval.remove(folder.at("top")))
        #expect(FolderRemoval.remove(folder.at("link")))
        #expect(FolderRemoval.names(in: folder.path) == ["kept"])
        #expect(try folder.text(of: "kept/file") == "x")
    }
}
