import Testing

@testable import Files

struct RelativePathTests {
    @Test(
        "Empty components and dots are left out",
        arguments: [
            ("a", "a", false), ("a/b", "a/b", false), ("a//b", "a/b", false), ("./a/./b", "a/b", false),
            ("a/", "a", true), ("a/.", "a", true), ("a//", "a", true), ("", "", true), (".", "", true),
            ("...", "...", false), ("..a/b..", "..a/b..", false), ("a\\..\\b", "a\\..\\b", false),
            ("%2e%2e/a", "%2e%2e/a", false), ("a\n b", "a\n b", false),
        ])
    func collapsing(path: String, bytes: String, mustBeDirectory: Bool) throws {
        let relative = try RelativePath(path.bytes)
        #expect(relative.bytes == bytes.bytes)
        #expect(relative.mustBeDirectory == mustBeDirectory)
    }

    @Test(
        "What leads out or is no name is refused before the kernel is asked",
        arguments: [
            ("/etc/passwd", FileRefusal.outsideRoot), ("/", .outsideRoot), ("//a", .outsideRoot), ("..", .outsideRoot),
            ("a/..", .outsideRoot), ("../a", .outsideRoot), ("a/../../b", .outsideRoot), ("a/../b", .outsideRoot),
            ("a\0b", .invalidName), ("\0", .invalidName), (String(repeating: "a/", count: 2048), .invalidName),
        ])
    func refusing(path: String, refusal: FileRefusal) {
        #expect(throws: refusal) { try RelativePath(path.bytes) }
    }

    @Test("The longest path of the system is taken")
    func longest() throws {
        #expect(try RelativePath(Array(repeating: UInt8(ascii: "a"), count: 4095)).bytes.count == 4095)
    }

    @Test("Parent and name are C strings")
    func parts() throws {
        let path = try RelativePath("a//b/c.js".bytes)
        #expect(path.parent == "a/b\0".bytes)
        #expect(path.name() == "c.js\0".bytes)
        #expect(path.name(suffix: ".gz") == "c.js.gz\0".bytes)
        let single = try RelativePath("c.js".bytes)
        #expect(single.parent == nil)
        #expect(single.name() == "c.js\0".bytes)
        #expect(try RelativePath([]).name() == [0])
    }

    @Test("Bytes that are not UTF-8, and two ways to write é, are different names")
    func exactBytes() throws {
        #expect(try RelativePath([0xFF, 0xFE]).bytes == [0xFF, 0xFE])
        let composed = try RelativePath("caf\u{E9}".bytes)
        let decomposed = try RelativePath("cafe\u{301}".bytes)
        #expect(composed != decomposed)
    }
}
