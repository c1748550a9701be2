import Diagnostics
import ProxyTestKit
import Testing

@testable import Authentication

@Suite("The file of passwords")
struct PasswordListTests {
    private func list(_ text: String) throws -> PasswordList { try PasswordList(Array(text.utf8), file: "users") }

    /// The headlines of what is wrong.
    private func mistakes(_ text: String) -> [String] {
        do throws(PasswordListError) {
            _ = try PasswordList(Array(text.utf8), file: "users")
            return []
        } catch {
            guard case .unusable(let diagnostics) = error else { return ["\(error)"] }
            return diagnostics.map(\.headline)
        }
    }

    @Test(
        "a user has one password",
        arguments: [
            ("ann", "secret", true), ("ann", "Secret", false), ("ann", "secret ", false), ("ann", "", false),
            ("bob", "other", true), ("bob", "secret", false), ("zoe", "", true), ("zoe", "x", false),
            ("Ann", "secret", false), ("", "secret", false), ("nobody", "secret", false), ("nobody", "other", false),
        ])
    func accepts(name: String, password: String, isRight: Bool) throws {
        let list = try list([TestUsers.ann, TestUsers.bob, TestUsers.zoe].joined(separator: "\n"))
        #expect(list.accepts(Array(name.utf8), Array(password.utf8)) == isRight)
    }

    @Test("comments, empty lines and CRLF are passed over, and the three names of bcrypt are one")
    func forms() throws {
        let text = "# users\r\n\r\n\(TestUsers.ann)\r\n" + TestUsers.bob.replacing("$2y$", with: "$2b$") + "\n"
        let list = try list(text)
        #expect(list.count == 2)
        #expect(list.accepts(Array("ann".utf8), Array("secret".utf8)))
        #expect(list.accepts(Array("bob".utf8), Array("other".utf8)))
    }

    @Test(
        "what is not bcrypt is refused with its place, and the hash itself is never shown",
        arguments: [
            ("x:$apr1$abc$0123456789abcdefghij..", "MD5 ($apr1$)"),
            ("x:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", "SHA-1 ({SHA})"),
            ("x:$1$abc$0123456789abcdefghij..", "MD5 ($1$)"), ("x:$5$abc$0123456789", "SHA-256 ($5$)"),
            ("x:$6$abc$0123456789", "SHA-512 ($6$)"), ("x:$y$j9T$abc$0123456789", "yescrypt ($y$)"),
            ("x:rl0uE1a2b3c4d", "plain text or hashed with DES"), ("x:0123456789", "plain text"), ("x:", "plain text"),
            ("x:$2x$05$" + String(repeating: "a", count: 53), "a faulty bcrypt ($2x$)"),
            ("x:$2y$05$0123456789", "not whole"), ("x:$2y$05$" + String(repeating: "!", count: 53), "not whole"),
            ("x:$2y$5$0" + String(repeating: "a", count: 53), "not whole"),
            ("x:$2y$31$" + String(repeating: "a", count: 53), "the cost of the bcrypt hash is 31"),
            ("x:$2y$03$" + String(repeating: "a", count: 53), "the cost of the bcrypt hash is 3"),
        ])
    func otherHashes(line: String, reason: String) {
        let found = mistakes("\(TestUsers.ann)\n\(line)\n")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("users:2:3: error: ") == true)
        #expect(found.first?.contains(reason) == true, "\(found)")
        for part in ["0123456789", "aaaa", "rl0u"] { #expect(found.first?.contains(part) == false) }
    }

    @Test("all mistakes are reported at once, and their columns are characters")
    func places() {
        let found = mistakes("é€:plain\nno colon\n:x\n\(TestUsers.ann)\n\(TestUsers.ann)\n")
        #expect(
            found.map { $0.split(separator: " ").first } == [
                "users:1:4:", "users:2:1:", "users:3:1:", "users:5:1:",
            ])
        #expect(found.last?.contains("line 4") == true)
    }

    @Test("a file that names nobody is refused", arguments: ["", "\n\n", "# ann:x\n"])
    func nobody(text: String) {
        #expect(mistakes(text).first?.hasPrefix("users: error: the file names nobody") == true)
    }
}
