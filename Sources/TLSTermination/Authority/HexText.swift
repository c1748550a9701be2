/// Writes bytes as lower-case hex digits.
public enum HexText {
    /// Two digits a byte, in their order.
    public static func of(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
