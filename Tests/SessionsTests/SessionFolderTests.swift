import Diagnostics
import Glibc
import ProxyTestKit
import Testing

@testable import Sessions

@Suite("The folder of sessions")
struct SessionFolderTests {
    private let place = TemporaryFolder()
    private var folder: SessionFolder { SessionFolder(path: place.at("sessions")) }

    private func name(_ text: String) throws -> SessionName { try #require(SessionName(text)) }

    private func mode(_ path: String) -> UInt32 {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test("a session is saved for its user alone, replaced, listed and deleted")
    func life() throws {
        let first = try SavedSession(Array("entries: [{ url: \"http://a/\" }]".utf8))
        let second = try SavedSession(Array("entries: [{ url: \"http://b/\" }]".utf8))
        let shop = try name("shop")
        #expect(try folder.names().isEmpty)
        #expect(throws: SessionFolder.ReadFailure.notFound) { try folder.read(shop) }
        #expect(try folder.delete(shop) == false)
        #expect(try folder.write(first, as: shop) == false)
        #expect(try folder.write(second, as: shop))
        #expect(mode(folder.path) == 0o700 && mode(folder.file(of: shop)) == 0o600)
        #expect(try folder.read(shop) == second)
        _ = try folder.write(first, as: try name("a"))
        try place.write("sessions/.hidden.yaml", "")
        try place.write("sessions/other.txt", "")
        #expect(try folder.names().map(\.text) == ["a", "shop"])
        #expect(try folder.delete(shop))
        #expect(try folder.names().map(\.text) == ["a"])
    }

    @Test("a link, a folder, a pipe and a file that is none are refused, and nothing is waited for")
    func hostile() throws {
        mkdir(folder.path, 0o700)
        mkdir(folder.path + "/folder.yaml", 0o700)
        mkfifo(folder.path + "/pipe.yaml", 0o600)
        symlink("/etc/passwd", folder.path + "/link.yaml")
        try place.write("sessions/bad.yaml", "current: 0\nentries: 7\n")
        for text in ["folder", "pipe", "link", "bad"] {
            let failure = #expect(throws: SessionFolder.ReadFailure.self) { try folder.read(try name(text)) }
            guard case .noSession(let error) = failure else {
                Issue.record("\(text): \(String(describing: failure))")
                continue
            }
            #expect((error.span?.start.line == 2) == (text == "bad"))
        }
    }

    @Test(
        "the folder beside a map", arguments: [("m.yaml", "sessions"), ("a/m.yaml", "a/sessions"), ("/m", "/sessions")])
    func beside(_ map: String, _ path: String) { #expect(SessionFolder(besideMap: map).path == path) }
}
