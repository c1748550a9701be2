import Testing

@testable import HTTPCaching

@Suite("Keys of the store")
struct StoreKeyTests {
    @Test(
        "Keys are equal where all of their bytes are",
        arguments: [
            ("", "", true), ("a", "a", true), ("a", "b", false), ("a", "", false), ("12345678", "12345678", true),
            ("12345678", "12345679", false), ("123456789", "123456789", true), ("123456789", "123456780", false),
            ("x2345678123456789", "12345678123456789", false), ("1234567812345678", "12345678", false),
        ] as [(String, String, Bool)])
    func equality(one: String, other: String, expected: Bool) {
        #expect((StoreKey(one) == StoreKey(other)) == expected)
        #expect((StoreKey(one).fingerprint == StoreKey(other).fingerprint) == expected)
        #expect(Set([StoreKey(one), StoreKey(other)]).count == (expected ? 1 : 2))
    }

    @Test("A key whose length and hash are another's is told apart by each of its bytes")
    func everyByte() {
        let bytes = [UInt8](0..<37)
        for position in bytes.indices {
            var changed = bytes
            changed[position] ^= 1
            let isSame = changed.withUnsafeBytes { StoreKey(bytes).consists(of: $0) }
            #expect(!isSame)
        }
        let isSame = Array(bytes).withUnsafeBytes { StoreKey(bytes).consists(of: $0) }
        #expect(isSame)
    }
}
