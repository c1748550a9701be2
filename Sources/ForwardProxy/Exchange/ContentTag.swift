import Crypto

/// Entity tags of bodies that stand in the map itself.
enum ContentTag {
    /// A strong tag from the content: the first 16 bytes of its SHA-256 in hexadecimal digits, with quotes.
    static func make(_ content: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        var tag: [UInt8] = [0x22]
        for byte in SHA256.hash(data: content).prefix(16) {
            tag.append(digits[Int(byte >> 4)])
            tag.append(digits[Int(byte & 15)])
        }
        tag.append(0x22)
        return tag
    }
}
