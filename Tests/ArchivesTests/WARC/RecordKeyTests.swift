import Testing

@testable import Archives

@Suite("The key of a record")
struct RecordKeyTests {
    private static let uuid = "0123abCD-4567-89ef-ABCD-fedcba987654"

    private func key(_ id: String) -> RecordKey? {
        let bytes = Array(id.utf8)
        return bytes.withUnsafeBytes { RecordKey(id: $0) }
    }

    @Test("is the same for each way in which its UUID is written")
    func same() throws {
        let known = try #require(key("urn:uuid:\(Self.uuid)"))
        #expect(key("<urn:uuid:\(Self.uuid)>") == known)
        #expect(key("URN:UUID:\(Self.uuid.uppercased())") == known)
        // The same digits in other groups.
        #expect(key("urn:uuid:0-123abCD456789efABCDfedcba987-65-4-") == known)
        #expect(key("") == nil && key("<>") == nil)
        #expect(key("<") != nil)
    }

    @Test("differs where any digit does, and where one is none")
    func others() throws {
        var keys: Set<RecordKey> = [try #require(key("urn:uuid:\(Self.uuid)"))]
        for (place, digit) in Self.uuid.enumerated() where digit != "-" {
            for other in ["0", "9", "a", "f", "g", "/", ":", "@", "G", "`", "\u{10}"] where other != digit.lowercased()
            {
                var text = Array(Self.uuid)
                text[place] = Character(other)
                #expect(keys.insert(try #require(key("urn:uuid:\(String(text))"))).inserted)
            }
        }
    }

    @Test("of a payload is the same for each way in which its digest is written")
    func digests() throws {
        func key(_ digest: String) -> RecordKey? { RecordKey(digest: Array(digest.utf8)[...]) }
        let known = try #require(key("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"))
        for other in [
            "sha1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj", "SHA-1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709",
        ] { #expect(key(other) == known, "\(other)") }
        // Only the first 128 bits are kept, which are 25 letters and three bits.
        for place in 5..<30 {
            var text = Array("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ")
            text[place] = text[place] == "A" ? "B" : "A"
            #expect(key(String(text)) != known, "\(place)")
        }
        #expect(key("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBY1") != known)
        #expect(key("") == nil)
    }
}
