import Diagnostics
import Testing
import YAML

@Suite("An error in YAML")
struct YAMLErrorTests {
    @Test("gives a diagnostic with its message and place")
    func diagnostic() throws {
        let source = [UInt8]("a:\n\tb: 1\n")
        let error = try #require(failure(source))
        #expect(
            error.diagnostic(file: "m.yaml").rendered(source: source)
                == "m.yaml:2:1: error: a tab is not allowed as indentation; use spaces\n\tb: 1\n^")
    }
}
