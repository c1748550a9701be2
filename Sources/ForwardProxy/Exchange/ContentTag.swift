import Basics
import Crypto

/// Entity tags of bodies that stand in the map itself.
enum ContentTag {
    /// A strong tag from the content: the first 16 bytes of its SHA-256 in hexadecimal digits, with quotes.
    static func make(_ content: [UInt8]) -> [UInt8] {
        var tag: [UInt8] = [0x22]
        Hexadecimal.append(SHA256.hash(data: content).prefix(16), to: &tag)
        tag.append(0x22)
        return tag
    }
}
