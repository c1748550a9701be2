import HTTPSemantics
import NIOCore
import Substitution

/// A rule's answer as bytes that are ready to send: field lines serialised once, and for small bodies the whole
/// response, in which only the date changes, once a second.
///
/// Bound to its event loop. The bodies' storage is shared with the store and with other loops' answers.
final class ReadyAnswer {
    /// One encoding of the answer.
    struct Variant {
        let coding: ContentCoding?
        /// The entity tag as sent, quotes included; nil where the rule removes it.
        let etag: [UInt8]?
        /// Unix seconds.
        let lastModified: Int64?
        let size: Int
        /// The body; nil where it is streamed from the file.
        let body: ByteBuffer?
        /// What describes the body: Content-Type, Content-Encoding, Accept-Ranges.
        let contentLines: ByteBuffer
        /// The same without Content-Type, which is another for several ranges.
        let linesWithoutType: ByteBuffer
        /// The value of Content-Type, for the parts of a multipart/byteranges body.
        let mediaType: [UInt8]
        /// The other fields, up to Via.
        let commonLines: ByteBuffer
        /// Names for Access-Control-Expose-Headers.
        let exposed: String
        /// Status line and all fields of the full response but Date.
        fileprivate let head: ByteBuffer
        /// The full response with the date of `readySecond`: head and body, or the head alone where the body is large.
        fileprivate var ready: ByteBuffer
        fileprivate var readyDate: DateStamp?
        fileprivate var holdsBody: Bool
    }

    /// Bodies up to this size stand in one buffer with their head; larger ones are written beside it.
    static let inlineLimit = 8 << 10

    let options: RuleOptions
    let position: String
    private(set) var file: LoadedFile?
    private(set) var variants: [Variant]
    let status: Int
    /// Whether a plain GET is answered by the ready bytes: nothing of the rule asks for more.
    let isPlain: Bool
    /// Whether the rule answers cross-origin requests by itself.
    let answersCORS: Bool
    /// When the file was last seen to be as loaded, monotonic nanoseconds; `.max` where there is nothing to see.
    var checkedAt: UInt64
    var isChecking = false

    /// How old a check may be at a hit: an edit shows in a request that comes 100 ms later.
    static let freshFor: UInt64 = 95_000_000
    /// From this age on a hit is still served, and a check is begun beside it.
    static let refreshAfter: UInt64 = 50_000_000

    init(
        options: RuleOptions, position: String, content: AnswerContent, identity: ProxyIdentity, checkedAt: UInt64
    ) {
        self.options = options
        self.position = position
        file = content.file
        self.checkedAt = checkedAt
        let status = options.status ?? content.defaultStatus
        self.status = status
        isPlain = options.delay == .zero && options.rate == nil
        let allowsOrigin = options.headers.contains { $0.name.equalsIgnoringASCIICase("access-control-allow-origin") }
        answersCORS = options.cors == .auto && !allowsOrigin
        variants = content.bodies.map { body in
            AnswerFields.variant(
                of: body, in: content, options: options, status: status, position: position, identity: identity)
        }
    }

    /// The file was looked at and is as it was; `loaded` is the state to keep, which may be known to be settled now.
    func checked(_ loaded: LoadedFile, at time: UInt64) {
        file = loaded
        checkedAt = loaded.isPinned ? .max : time
    }

    func isFresh(_ now: UInt64) -> Bool { checkedAt == .max || now &- checkedAt < ReadyAnswer.freshFor }

    func wantsRefresh(_ now: UInt64) -> Bool {
        checkedAt != .max && !isChecking && now &- checkedAt > ReadyAnswer.refreshAfter
    }

    /// Whether the answer is one that is taken from memory at once.
    var isInMemory: Bool { variants.allSatisfy { $0.body != nil } }

    /// Writes the full response of the identity variant.
    @inline(__always)
    func sendReady(to client: any ExchangeClient, isHead: Bool, date: DateStamp) {
        if variants[0].readyDate != date { variants[0].stamp(date) }
        if isHead {
            client.sendSerialised(variants[0].headOnly(date))
        } else if variants[0].holdsBody {
            client.sendSerialised(variants[0].ready)
        } else if let body = variants[0].body {
            client.sendSerialised(variants[0].ready, body)
        }
    }
}

extension ReadyAnswer.Variant {
    init(
        coding: ContentCoding?, etag: [UInt8]?, lastModified: Int64?, size: Int, body: ByteBuffer?,
        contentLines: ByteBuffer, linesWithoutType: ByteBuffer, mediaType: [UInt8], commonLines: ByteBuffer,
        exposed: String, statusLine: ByteBuffer, hasContent: Bool
    ) {
        self.coding = coding
        self.etag = etag
        self.lastModified = lastModified
        self.size = size
        self.body = body
        self.contentLines = contentLines
        self.linesWithoutType = linesWithoutType
        self.mediaType = mediaType
        self.commonLines = commonLines
        self.exposed = exposed
        var head = ByteBuffer()
        head.writeImmutableBuffer(statusLine)
        head.writeImmutableBuffer(contentLines)
        if hasContent {
            head.writeStaticString("Content-Length: ")
            head.writeDecimal(size)
            head.writeStaticString("\r\n")
        }
        head.writeImmutableBuffer(commonLines)
        self.head = head
        ready = ByteBuffer()
        readyDate = nil
        holdsBody = size <= ReadyAnswer.inlineLimit && body != nil
    }

    /// Puts the date into the ready bytes; in place where no write of them is pending.
    fileprivate mutating func stamp(_ date: DateStamp) {
        if readyDate != nil {
            ready.setBuffer(date.line, at: head.readableBytes)
        } else {
            ready = headOnly(date)
            if holdsBody, let body { ready.writeImmutableBuffer(body) }
        }
        readyDate = date
    }

    fileprivate func headOnly(_ date: DateStamp) -> ByteBuffer {
        var out = ByteBuffer()
        out.reserveCapacity(head.readableBytes &+ 40 &+ (holdsBody ? size : 0))
        out.writeImmutableBuffer(head)
        out.writeImmutableBuffer(date.line)
        out.writeStaticString("\r\n")
        return out
    }
}

/// What a rule answers with, before it is serialised.
struct AnswerContent {
    struct Body {
        var coding: ContentCoding?
        var etag: [UInt8]
        var lastModified: Int64?
        var size: Int
        var bytes: ByteBuffer?
    }

    var bodies: [Body]
    var mediaType: [UInt8]
    var defaultStatus = 200
    /// A Location of a redirect.
    var location: [UInt8]?
    var file: LoadedFile?
}
