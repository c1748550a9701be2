import Basics

/// Writes fingerprints as people compare them.
public enum FingerprintText {
    /// `3F:2A:…`
    public static func of(_ hash: [UInt8]) -> String {
        hash.map { Hexadecimal.text([$0]).uppercased() }.joined(separator: ":")
    }
}
