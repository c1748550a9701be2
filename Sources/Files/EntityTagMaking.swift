import Basics
import Crypto
import HTTPSemantics
import NIOCore

/// Makes the strong entity tags of local files (RFC 9110 §8.8.3).
enum EntityTagMaking {
    /// The tag of content that is in memory: the first 18 bytes of its SHA-256 in base64url.
    static func tag(of body: ByteBuffer, coding: ContentCoding?) -> [UInt8] {
        var hash = SHA256()
        body.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
        return tag(hash.finalize(), coding: coding)
    }

    /// The tag of content that is streamed: by the file's identity, so that it is never read whole.
    ///
    /// - Parameter salt: another one for each reading of a file that is not settled yet, in whose state another content
    ///   could go unseen; 0 for a settled one.
    static func tag(of identity: FileIdentity, salt: UInt64, coding: ContentCoding?) -> [UInt8] {
        let words: [UInt64] = [
            identity.device, identity.inode, UInt64(bitPattern: Int64(identity.size)),
            UInt64(bitPattern: identity.modified.seconds), UInt64(bitPattern: identity.modified.nanoseconds),
            UInt64(bitPattern: identity.changed.seconds), UInt64(bitPattern: identity.changed.nanoseconds), salt,
        ]
        var hash = SHA256()
        words.withUnsafeBytes { hash.update(bufferPointer: $0) }
        return tag(hash.finalize(), coding: coding)
    }

    private static func tag(_ digest: SHA256.Digest, coding: ContentCoding?) -> [UInt8] {
        var tag: [UInt8] = [UInt8(ascii: "\"")]
        tag.reserveCapacity(32)
        digest.withUnsafeBytes { Base64.appendURLSafe($0.prefix(18), to: &tag) }
        coding?.fileExtension.withUTF8Buffer { tag.append(contentsOf: $0) }
        tag.append(UInt8(ascii: "\""))
        return tag
    }
}
