import HTTPSemantics

/// `HTTP-version = "HTTP" "/" DIGIT "." DIGIT` (RFC 9112 §2.3), read byte by byte.
enum VersionText {
    /// Judges the byte at `offset` of a version; false where the version is complete and the byte belongs to what
    /// follows.
    ///
    /// A minor version above 1 counts as 1.1 (RFC 9110 §2.5).
    ///
    /// - Throws: ``HTTP1Error/unsupportedVersion`` for another major version, `otherwise` if the bytes are no version.
    @inline(__always)
    static func accept(
        _ byte: UInt8, at offset: Int, _ version: inout HTTPVersion, _ otherwise: HTTP1Error
    ) throws(HTTP1Error) -> Bool {
        switch offset {
        case 0: guard byte == UInt8(ascii: "H") else { throw otherwise }
        case 1, 2: guard byte == UInt8(ascii: "T") else { throw otherwise }
        case 3: guard byte == UInt8(ascii: "P") else { throw otherwise }
        case 4: guard byte == UInt8(ascii: "/") else { throw otherwise }
        case 5:
            guard byte &- 0x30 < 10 else { throw otherwise }
            guard byte == UInt8(ascii: "1") else { throw .unsupportedVersion }
        case 6: guard byte == UInt8(ascii: ".") else { throw otherwise }
        case 7:
            guard byte &- 0x30 < 10 else { throw otherwise }
            version = byte == UInt8(ascii: "0") ? .http1_0 : .http1_1
        default: return false
        }
        return true
    }
}
