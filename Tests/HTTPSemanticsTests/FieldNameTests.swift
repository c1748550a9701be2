import HTTPSemantics
import ProxyTestKit
import Testing

@Suite("Field names")
struct FieldNameTests {
    static let known = FieldName.allCases.filter { $0 != .other }

    static func recognise(_ bytes: [UInt8]) -> FieldName { bytes.withUnsafeBytes { FieldName($0) } }

    @Test("Every name is recognised in any case", arguments: known)
    func anyCase(name: FieldName) {
        let lower = Array("\(name.lowercaseName)".utf8)
        #expect(lower.allSatisfy { $0.isMember(of: .token) && $0.asciiLowercased == $0 })
        let upper = lower.map { $0 &- 0x61 < 26 ? $0 & 0xdf : $0 }
        let mixed = lower.indices.map { $0.isMultiple(of: 2) ? upper[$0] : lower[$0] }
        for spelling in [lower, upper, mixed] { #expect(Self.recognise(spelling) == name) }
    }

    @Test("Nothing near a name is taken for it", arguments: known)
    func near(name: FieldName) {
        let lower = Array("\(name.lowercaseName)".utf8)
        let others = Set(Self.known.map { Array("\($0.lowercaseName)".utf8) })
        func check(_ bytes: [UInt8]) {
            if !others.contains(bytes.map(\.asciiLowercased)) { #expect(Self.recognise(bytes) == .other) }
        }
        for index in lower.indices {
            for bit in 0..<8 where bit != 5 || !lower[index].isMember(of: .alpha) {
                var changed = lower
                changed[index] ^= 1 << UInt8(bit)
                check(changed)
            }
            var shorter = lower
            shorter.remove(at: index)
            check(shorter)
            check(lower[..<index] + [UInt8(ascii: "_")] + lower[(index + 1)...])
        }
        check(lower + [0x20])
        check([0x20] + lower)
        check(lower + [0])
        check(lower + lower)
    }

    @Test(
        "Other bytes are other",
        arguments: [
            "", "x", "-", "\0", "x-mock", "hosts", "te1", "\u{212A}eep-alive", "ho\u{17F}t", "content_length",
            "http2settings",
            String(repeating: "a", count: 70_000),
        ])
    func other(name: String) {
        #expect(Self.recognise(Array(name.utf8)) == .other)
    }

    @Test("Random bytes are never recognised by accident")
    func random() {
        var generator = SeededGenerator(seed: 2)
        let names = Set(Self.known.map { "\($0.lowercaseName)" })
        for _ in 0..<50_000 {
            let bytes = (0..<Int.random(in: 0...20, using: &generator)).map { _ in
                UInt8.random(in: 0x61...0x7a, using: &generator)
            }
            if !names.contains(text(bytes)) { #expect(Self.recognise(bytes) == .other) }
        }
    }

    @Test("A set tells all names apart")
    func sets() {
        #expect(FieldName.allCases.count <= 64)
        for name in FieldName.allCases {
            let set = FieldNameSet(name)
            #expect(FieldName.allCases.filter { set.contains($0) } == [name])
            #expect(set.isDisjoint(with: FieldNameSet()))
            #expect(!set.isDisjoint(with: FieldNameSet(.host, name)))
        }
    }
}
