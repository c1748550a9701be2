import Basics
import Crypto

/// Entity tags of bodies that stand in the map itself.
enum ContentTag {
    /// A strong tag from the content: the first 16 bytes of its SHA-256 in hexadecimal digits, with quotes.
    static func make(_ content: [UInt8]) -> [UInt8] {
        let digest = SHA256.hash(data: content)
        return [UInt8](unsafeUninitializedCapacity: 34) { tag, count in
            tag[0] = 0x22
            digest.withUnsafeBytes { bytes in
                for index in 0..<16 {
                    tag[2 &* index &+ 1] = Hexadecimal.digit(bytes[index] >> 4)
                    tag[2 &* index &+ 2] = Hexadecimal.digit(bytes[index])
                }
            }
            tag[33] = 0x22
            count = 34
        }
    }
}
