import HTTP1
import HTTP2
import HTTPSemantics
import NIOCore

/// One representation as bytes that are ready to send: field lines serialised once, in which only those that change by
/// the second are written anew, once a second. Of a small body that is asked for often the whole response is ready.
///
/// A retained response has one for each of its encodings, a stored response has one. Bound to its event loop; the
/// body's storage is shared.
final class ReadyRepresentation {
    // What each hit needs comes first, so that it is in few lines of the processor's cache.

    /// Head and body in one buffer.
    private var copy: ResponseCopy?
    private var readySecond: Int64?
    /// The head of the full response with the lines of `readySecond`.
    private var ready = ByteBuffer()
    private var readyTailLength = 0
    /// How often it was sent in this second.
    private var uses = 0
    let size: Int
    private let holdsBody: Bool
    /// The body; nil where it is streamed from a file.
    let body: BodySegments?
    /// Status line and all fields of the full response but those that change by the second.
    private let head: ByteBuffer
    private let status: Int
    private let statusLineLength: Int
    private let tagIsWellFormed: Bool
    /// The entity tag as sent, quotes included; nil where there is none.
    let etag: [UInt8]?
    /// Unix seconds.
    let lastModified: Int64?
    /// The header block of HTTP/2 with the lines of `blockSecond`, made at the first need of it.
    private var block = ByteBuffer()
    private var blockSecond: Int64?
    /// The 304 (Not Modified) with the lines of `notModifiedSecond`, made at the first need of it.
    private var notModified = ByteBuffer()
    private var notModifiedSecond: Int64?
    let coding: ContentCoding?
    /// What describes the body: Content-Type, Content-Encoding, Accept-Ranges.
    let contentLines: ByteBuffer
    /// The same for a part of the body, without digests of the whole.
    let partLines: ByteBuffer
    /// The same without Content-Type, which is another for several ranges.
    let linesWithoutType: ByteBuffer
    /// The value of Content-Type, for the parts of a multipart/byteranges body.
    let mediaType: [UInt8]
    /// The other fields that stay as they are.
    let commonLines: ByteBuffer
    /// The fields of the full response before and behind Content-Length.
    let fullLines: (before: ByteBuffer, behind: ByteBuffer)
    private let fieldNames: [String]
    /// Names for Access-Control-Expose-Headers, made at the first need of them.
    private(set) lazy var exposed = AnswerFields.exposedNames(fieldNames)

    /// Bodies up to this size may stand in one buffer with their head; larger ones are written beside it.
    static let inlineLimit = 8 << 10
    /// How often in a second a response is sent before a copy of it is made.
    private static let usesBeforeCopy = 16

    init(_ made: RepresentationBuilder) {
        coding = made.coding
        etag = made.etag
        lastModified = made.lastModified
        size = made.size
        body = made.body
        contentLines = made.contentLines
        partLines = made.partLines
        linesWithoutType = made.linesWithoutType
        mediaType = made.mediaType
        commonLines = made.commonLines
        fullLines = made.fullLines
        fieldNames = made.fieldNames
        status = made.status
        var head = ByteBuffer()
        head.reserveCapacity(contentLines.readableBytes &+ commonLines.readableBytes &+ 96)
        if let reason = made.reason {
            MessageWriter.writeStatusLine(status, checkedReason: reason, to: &head)
        } else {
            MessageWriter.writeStatusLine(status, to: &head)
        }
        statusLineLength = head.readableBytes
        head.writeImmutableBuffer(fullLines.before)
        if made.hasContent { MessageWriter.writeField("Content-Length", decimal: size, to: &head) }
        head.writeImmutableBuffer(fullLines.behind)
        self.head = head
        tagIsWellFormed = etag?.withUnsafeBytes { EntityTag($0) != nil } ?? false
        holdsBody = size <= ReadyRepresentation.inlineLimit && body?.rest.isEmpty == true
    }

    func withTag<Result>(_ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        guard let etag else { return body(nil) }
        return etag.withUnsafeBytes { body($0) }
    }

    /// What the conditions of a request make of this representation.
    func evaluate(_ head: RequestHead, now: Int64) -> Preconditions.Outcome {
        if isHeld(by: head) { return .notModified }
        return withTag { tag in
            Preconditions.evaluate(
                method: head.method, fields: head.fields, etag: tag, lastModified: lastModified, now: now)
        }
    }

    /// Whether a client that reads says by the very tag that it was given that it has this, and asks for no more: what
    /// ``Preconditions`` would find too, less quickly.
    private func isHeld(by head: RequestHead) -> Bool {
        let fields = head.fields
        guard tagIsWellFormed, let etag, fields.contains(.ifNoneMatch), head.method == .get || head.method == .head,
            !fields.contains(.ifMatch), !fields.contains(.ifUnmodifiedSince)
        else { return false }
        return etag.withUnsafeBytes { fields.first(.ifNoneMatch, equals: $0) }
    }

    /// Sends the full response.
    ///
    /// - Parameter tail: the field lines that change by the second, as they are in `second`.
    @inline(__always)
    func send(to client: some ExchangeClient, isHead: Bool, second: Int64, tail: @autoclosure () -> ByteBuffer) {
        if client.takesFieldBlocks {
            if blockSecond != second { stampBlock(second, tail()) }
            return client.send(fieldBlock: block, status: status, isHead || size == 0 ? nil : body)
        }
        if !isHead, let copy, copy.second == second { return client.sendSerialised(copy.bytes) }
        sendRarely(to: client, isHead: isHead, second: second, tail: tail())
    }

    /// Sends the full response of what is hardly sent again: a small one in one piece, which nothing is kept of.
    func sendOnce(to client: some ExchangeClient, second: Int64, tail: ByteBuffer) {
        guard holdsBody, let body, !client.takesFieldBlocks else {
            return send(to: client, isHead: false, second: second, tail: tail)
        }
        var out = ByteBuffer()
        out.reserveCapacity(head.readableBytes &+ tail.readableBytes &+ 2 &+ size)
        out.writeImmutableBuffer(head)
        out.writeImmutableBuffer(tail)
        out.writeStaticString("\r\n")
        out.writeImmutableBuffer(body.first)
        client.sendSerialised(out)
    }

    /// The same as ``send``, where there is no copy of the whole response for this second.
    private func sendRarely(to client: some ExchangeClient, isHead: Bool, second: Int64, tail: ByteBuffer) {
        if !isHead, let copy {
            if copy.stamp(second, tail, at: head.readableBytes) { return client.sendSerialised(copy.bytes) }
            self.copy = nil
        }
        if readySecond != second { stamp(second, tail) }
        guard !isHead, size > 0, let body else { return client.sendSerialised(ready) }
        uses &+= 1
        if holdsBody, uses > ReadyRepresentation.usesBeforeCopy {
            var bytes = ByteBuffer()
            bytes.reserveCapacity(ready.readableBytes &+ size)
            bytes.writeImmutableBuffer(ready)
            bytes.writeImmutableBuffer(body.first)
            let made = ResponseCopy(bytes, second: second, tailLength: tail.readableBytes)
            client.loop.copies.insert(made)
            copy = made
        }
        client.sendSerialised(ready, body)
    }

    /// Sends the response to a condition that holds (RFC 9110 §15.4.5), to a client that takes serialised responses.
    @inline(__always)
    func sendNotModified(to client: some ExchangeClient, second: Int64, tail: @autoclosure () -> ByteBuffer) {
        if notModifiedSecond != second { stampNotModified(second, tail()) }
        client.sendSerialised(notModified)
    }

    /// Tells observers what is sent: the full response, or the one to a condition that holds.
    func tell(_ observed: ObservedExchange, isHead: Bool, isNotModified: Bool, tail: ByteBuffer) {
        var lines = ByteBuffer()
        if isNotModified {
            lines.writeImmutableBuffer(commonLines)
        } else {
            lines.writeImmutableBuffer(fieldLines)
        }
        lines.writeImmutableBuffer(tail)
        observed.head(status: isNotModified ? 304 : status, lines: lines)
        if !isHead, !isNotModified, let body { body.forEachSlice(of: 0..<body.count) { observed.body($0) } }
    }

    /// The lines of ``head`` behind its status line.
    private var fieldLines: ByteBuffer {
        head.getSlice(at: head.readerIndex &+ statusLineLength, length: head.readableBytes &- statusLineLength)
            ?? ByteBuffer()
    }

    private func stampNotModified(_ second: Int64, _ tail: ByteBuffer) {
        var out = ByteBuffer()
        MessageWriter.writeStatusLine(304, to: &out)
        out.writeImmutableBuffer(commonLines)
        out.writeImmutableBuffer(tail)
        out.writeStaticString("\r\n")
        notModified = out
        notModifiedSecond = second
    }

    /// Puts the changing lines into the ready bytes; in place where they are as long as those before and no write of
    /// the bytes is pending.
    private func stamp(_ second: Int64, _ tail: ByteBuffer) {
        if readySecond != nil, tail.readableBytes == readyTailLength {
            ready.setBuffer(tail, at: head.readableBytes)
        } else {
            var out = ByteBuffer()
            out.reserveCapacity(head.readableBytes &+ tail.readableBytes &+ 2)
            out.writeImmutableBuffer(head)
            out.writeImmutableBuffer(tail)
            out.writeStaticString("\r\n")
            ready = out
        }
        readySecond = second
        readyTailLength = tail.readableBytes
        uses = 0
    }

    private func stampBlock(_ second: Int64, _ tail: ByteBuffer) {
        var out = ByteBuffer()
        out.reserveCapacity(head.readableBytes &+ tail.readableBytes)
        HPACKWriter.writeStatus(status, to: &out)
        HPACKWriter.write(fieldLines, to: &out)
        HPACKWriter.write(tail, to: &out)
        block = out
        blockSecond = second
    }
}
