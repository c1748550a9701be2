import HTTPSemantics
import NIOCore
import Testing

@testable import Files

struct EntityTagMakingTests {
    private func text(_ tag: [UInt8]) -> String { String(decoding: tag, as: UTF8.self) }

    private let identity = FileIdentity(
        device: 1, inode: 2, size: 3, modified: FileTime(seconds: 4, nanoseconds: 5),
        changed: FileTime(seconds: 6, nanoseconds: 7))

    @Test("The tag of content is the head of its SHA-256 in base64url")
    func knownDigest() {
        // SHA-256("") is e3b0c442 98fc1c14 9afbf4c8 996fb924 27ae41e4 … (FIPS 180-4).
        #expect(text(EntityTagMaking.tag(of: ByteBuffer(), coding: nil)) == "\"47DEQpj8HBSa-_TImW-5JCeu\"")
    }

    @Test("Codings of equal bytes have different tags")
    func codings() {
        let tags = ContentCoding.siblings.map { text(EntityTagMaking.tag(of: ByteBuffer(string: "x"), coding: $0)) }
        #expect(Set(tags).count == 4)
        #expect(tags[1].hasSuffix(".br\""))
        let streamed = ContentCoding.siblings.map { EntityTagMaking.tag(of: identity, salt: 0, coding: $0) }
        #expect(Set(streamed).count == 4)
    }

    @Test("Any difference of the identity is one of the tag")
    func identities() {
        var others = Array(repeating: identity, count: 7)
        others[0].device = 9
        others[1].inode = 9
        others[2].size = 9
        others[3].modified.seconds = 9
        others[4].modified.nanoseconds = 9
        others[5].changed.seconds = 9
        others[6].changed.nanoseconds = 9
        let tags = ([identity] + others).map { EntityTagMaking.tag(of: $0, salt: 0, coding: nil) }
        #expect(Set(tags).count == 8)
        #expect(EntityTagMaking.tag(of: identity, salt: 1, coding: nil) != tags[0])
        #expect(EntityTagMaking.tag(of: identity, salt: 0, coding: nil) == tags[0])
    }

    @Test("Every byte of a tag may stand in an entity-tag (RFC 9110 §8.8.3)")
    func grammar() {
        for value in 0..<200 {
            let tag = EntityTagMaking.tag(of: ByteBuffer(integer: value), coding: .zstandard)
            #expect(tag.count == 30)
            #expect(tag.first == 0x22 && tag.last == 0x22)
            #expect(tag.dropFirst().dropLast().allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) })
        }
    }
}
