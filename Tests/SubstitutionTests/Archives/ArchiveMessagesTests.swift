import Archives
import Testing

@testable import Substitution

@Suite("Messages on archives")
struct ArchiveMessagesTests {
    @Test("name the kind of those that are not shown, with the digits that belong to words")
    func kinds() {
        let problems = (1...15).map { number in
            ArchiveProblem(
                .warning, "its body has \(number + 1) characters that are not base64", at: .line(number, column: 1),
                entry: number)
        }
        let messages = ArchiveMessages.grouped(problems, file: "b64.har")
        #expect(messages.count == 11)
        #expect(
            messages.last?.rendering
                == "b64.har: warning: 5 more of the kind: its body has characters that are not base64")
    }

    @Test(
        "are of one kind but for names in quotes, and numbers",
        arguments: [
            ("its file 'files/a 1.txt' can't be read", "its file can't be read"),
            ("the record has 12 bytes, and not 1,024", "the record has bytes, and not"),
            ("this is no UTF-8, nor WARC/1.1", "this is no UTF-8, nor WARC/1.1"), ("'a' is twice", " is twice"),
        ])
    func kind(message: String, kind: String) {
        #expect(ArchiveMessages.kind(of: message).split(separator: " ") == kind.split(separator: " "))
    }
}
