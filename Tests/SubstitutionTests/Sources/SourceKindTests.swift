import Testing

@testable import Substitution

@Suite("The kinds of source")
struct SourceKindTests {
    @Test("have names of their own, and a rule's record has room for their numbers")
    func numbers() {
        #expect(Set(SourceID.options).count == SourceID.kinds.count)
        // Four bits.
        #expect(SourceID.kinds.count <= 16)
        #expect(SourceID(option: "file") == .file)
        for option in SourceID.options { #expect(SourceID(option: option)?.kind.option == option) }
        #expect(SourceID(option: "files") == nil)
    }
}
