import HTTP1
import HTTP2
import HTTPSemantics
import NIOCore

/// One representation as bytes that are ready to send: field lines serialised once, and for small bodies the whole
/// response, in which only the lines that change by the second are written anew, once a second.
///
/// A retained response has one for each of its encodings, a stored response has one. Bound to its event loop; the
/// body's storage is shared.
final class ReadyRepresentation {
    let coding: ContentCoding?
    /// The entity tag as sent, quotes included; nil where there is none.
    let etag: [UInt8]?
    /// Unix seconds.
    let lastModified: Int64?
    let size: Int
    /// The body; nil where it is streamed from a file.
    let body: BodySegments?
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
    /// Names for Access-Control-Expose-Headers.
    let exposed: String
    /// Status line and all fields of the full response but those that change by the second.
    private let head: ByteBuffer
    /// The full response with the lines of `readySecond`: head and body, or the head alone where the body is large.
    private var ready = ByteBuffer()
    private var readySecond: Int64?
    private var readyTailLength = 0
    /// The 304 (Not Modified) with the lines of `notModifiedSecond`, made at the first need of it.
    private var notModified = ByteBuffer()
    private var notModifiedSecond: Int64?
    private let holdsBody: Bool
    private let tagIsWellFormed: Bool
    private let status: Int
    private let statusLineLength: Int
    /// The header block of HTTP/2 with the lines of `blockSecond`, made at the first need of it.
    private var block = ByteBuffer()
    private var blockSecond: Int64?

    /// Bodies up to this size stand in one buffer with their head; larger ones are written beside it.
    static let inlineLimit = 8 << 10

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
        exposed = made.exposed
        status = made.status
        var head = ByteBuffer()
        if let reason = made.reason {
            MessageWriter.writeStatusLine(status, checkedReason: reason, to: &head)
        } else {
            MessageWriter.writeStatusLine(status, to: &head)
        }
        statusLineLength = head.readableBytes
        head.writeImmutableBuffer(contentLines)
        if made.hasContent { MessageWriter.writeField("Content-Length", decimal: size, to: &head) }
        head.writeImmutableBuffer(commonLines)
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
        if readySecond != second { stamp(second, tail()) }
        if isHead {
            client.sendSerialised(headOnly)
        } else if holdsBody {
            client.sendSerialised(ready)
        } else if let body {
            client.sendSerialised(ready, body)
        }
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
            out.reserveCapacity(head.readableBytes &+ tail.readableBytes &+ 2 &+ (holdsBody ? size : 0))
            out.writeImmutableBuffer(head)
            out.writeImmutableBuffer(tail)
            out.writeStaticString("\r\n")
            if holdsBody, let body { out.writeImmutableBuffer(body.first) }
            ready = out
        }
        readySecond = second
        readyTailLength = tail.readableBytes
    }

    private func stampBlock(_ second: Int64, _ tail: ByteBuffer) {
        var out = ByteBuffer()
        out.reserveCapacity(head.readableBytes &+ tail.readableBytes)
        FieldBlockWriter.writeStatus(status, to: &out)
        FieldBlockWriter.write(fieldLines, to: &out)
        FieldBlockWriter.write(tail, to: &out)
        block = out
        blockSecond = second
    }

    private var headOnly: ByteBuffer {
        ready.getSlice(at: ready.readerIndex, length: head.readableBytes &+ readyTailLength &+ 2) ?? ready
    }
}
