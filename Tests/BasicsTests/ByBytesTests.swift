import Basics
import Testing

@Suite struct ByBytesTests {
    private struct Named: Hashable {
        @ByBytes var name: String
        @ByBytes var others: [String]? = nil
    }

    @Test func `Texts are equal where their bytes are, whatever Swift says of them`() {
        let (one, other) = ("caf\u{E9}", "cafe\u{301}")
        #expect(one == other)
        #expect(ByBytes(one) != ByBytes(other))
        #expect(ByBytes("\u{212A}") != ByBytes("K"))
        #expect(ByBytes(one) == ByBytes(String(decoding: Array(one.utf8), as: UTF8.self)))
        #expect(Set([one, other, one].map { ByBytes($0) }).count == 2)
        #expect(ByBytes("") == ByBytes("") && ByBytes("a") != ByBytes("b"))
    }

    @Test func `A structure with such texts is compared by them`() {
        let (one, other) = ("caf\u{E9}", "cafe\u{301}")
        #expect(Named(name: one) != Named(name: other))
        #expect(Named(name: "a", others: [one]) != Named(name: "a", others: [other]))
        #expect(Named(name: "a", others: []) != Named(name: "a"))
        #expect(Named(name: "a", others: ["b", "c"]) == Named(name: "a", others: ["b", "c"]))
        #expect(Named(name: "a", others: ["bc"]).hashValue != Named(name: "a", others: ["b", "c"]).hashValue)
        #expect(Named(name: one).name.hasBytes(of: one) && !one.hasBytes(of: other))
    }
}
