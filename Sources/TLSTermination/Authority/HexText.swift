/// Writes bytes as lower-case hex digits.
enum HexText {
    static func of(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
