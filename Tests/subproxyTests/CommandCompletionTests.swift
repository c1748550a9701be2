import Glibc
import ProxyTestKit
import Testing

@testable import subproxy

@Suite("What is completed behind '--'")
struct CommandCompletionTests {
    @Test("are files by their paths, folders with a slash; of those with a dot only where one is typed")
    func files() throws {
        let folder = TemporaryFolder()
        try folder.write("one.sh", "")
        try folder.write("other", "")
        try folder.write(".hidden", "")
        mkdir(folder.at("oven"), 0o755)
        func found(_ prefix: String) -> [String] {
            CommandCompletion.candidates(["subproxy", "run", "--", "sh"], 4, folder.at(prefix))
        }
        #expect(found("o") == ["one.sh", "other", "oven/"].map { folder.at($0) })
        #expect(found("").count == 3)
        #expect(found(".h") == [folder.at(".hidden")])
        #expect(found("none/x").isEmpty)
    }

    @Test("are the commands of PATH too, for the first word")
    func commands() {
        let words = ["subproxy", "run", "--", ""]
        #expect(CommandCompletion.candidates(words, 3, "s").contains("sh"))
        #expect(!CommandCompletion.candidates(words + [""], 4, "s").contains("sh"))
    }
}
