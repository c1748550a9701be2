import HTTP1
import HTTPSemantics
import NIOCore

/// Gathers what a ``ReadyRepresentation`` is made of, for a rule's answer and for a stored response.
struct RepresentationBuilder {
    /// Which responses a field is in: the full one, parts of it (206), and those without content (304, 412, 416).
    enum Role {
        /// All of them.
        case common
        /// Those with content: Content-Encoding, Accept-Ranges.
        case content
        /// The same; in a response with several ranges each part has it, and the response another (RFC 9110 §14.6).
        case type
        /// The full response alone: a digest of its content is not that of a part (RFC 9530 §2).
        case digest
    }

    let status: Int
    /// The reason phrase as received from an origin; nil writes the standard one.
    var reason: ByteBuffer?
    var coding: ContentCoding?
    /// The entity tag as sent, quotes included; nil where there is none.
    var etag: [UInt8]?
    /// Unix seconds.
    var lastModified: Int64?
    var mediaType: [UInt8]
    /// Bytes of the body.
    private(set) var size: Int
    /// Nil where it is streamed from a file.
    private(set) var body: BodySegments?
    /// Whether the response says how long it is.
    let hasContent: Bool
    /// The names of its fields, for Access-Control-Expose-Headers.
    var fieldNames: [String] = []
    private(set) var contentLines = ByteBuffer()
    private(set) var partLines = ByteBuffer()
    private(set) var linesWithoutType = ByteBuffer()
    private(set) var commonLines = ByteBuffer()
    /// Whether the full response has its fields in the order in which they were added; else those that describe the
    /// content come first.
    var keepsOrder = false
    private(set) var orderedLines = ByteBuffer()
    /// What was added ready, behind all fields.
    private var ownLines = ByteBuffer()

    /// - Parameters:
    ///   - size: of the body; a response that has no content has none.
    ///   - body: nil where it is streamed from a file.
    init(status: Int, mediaType: [UInt8], size: Int, body: BodySegments?, hasContent: Bool) {
        self.status = status
        self.mediaType = mediaType
        self.size = hasContent ? size : 0
        self.body = hasContent ? body : BodySegments(ByteBuffer())
        self.hasContent = hasContent
        contentLines.reserveCapacity(128)
        commonLines.reserveCapacity(384)
    }

    mutating func add(_ name: String, _ value: [UInt8], as role: Role) {
        write(to: role) { MessageWriter.writeField(name, value, to: &$0) }
        if keepsOrder { MessageWriter.writeField(name, value, to: &orderedLines) }
    }

    /// Adds all fields of a section, in their order and spelling.
    mutating func add(_ fields: FieldSection, as role: (FieldSection.Line) -> Role) {
        commonLines.reserveCapacity(minimumWritableBytes: fields.bytes.readableBytes)
        for line in fields.lines {
            write(to: role(line)) { lines in
                fields.withName(line) { _ = lines.writeBytes($0) }
                lines.writeStaticString(": ")
                fields.withValue(line) { _ = lines.writeBytes($0) }
                lines.writeStaticString("\r\n")
            }
        }
    }

    /// The same with another body and its entity tag; nil where the tag can't take the place of the one before.
    func with(_ other: BodySegments, etag: [UInt8]) -> RepresentationBuilder? {
        guard hasContent, let before = self.etag, before.count == etag.count,
            let start = commonLines.start(ofTag: before)
        else { return nil }
        var made = self
        made.etag = etag
        made.body = other
        made.size = other.count
        made.commonLines.setBytes(etag, at: start)
        return made
    }

    /// Adds lines that are ready, each with its CRLF.
    mutating func addCommon(_ write: (inout ByteBuffer) -> Void) {
        write(&commonLines)
        if keepsOrder { write(&ownLines) }
    }

    /// The field lines of the full response before and behind Content-Length.
    var fullLines: (before: ByteBuffer, behind: ByteBuffer) {
        keepsOrder ? (orderedLines, ownLines) : (contentLines, commonLines)
    }

    private mutating func write(to role: Role, _ write: (inout ByteBuffer) -> Void) {
        guard role != .common else { return write(&commonLines) }
        write(&contentLines)
        guard role != .digest else { return }
        write(&partLines)
        if role != .type { write(&linesWithoutType) }
    }

    /// Whether a field is a digest of the content, which a part of it does not have.
    static func isDigest(_ name: UnsafeRawBufferPointer) -> Bool {
        name.equalsIgnoringCase("content-digest") || name.equalsIgnoringCase("content-md5")
    }
}

extension ByteBuffer {
    /// Where an entity tag stands in field lines that its own is the first of; nil where it isn't.
    fileprivate func start(ofTag tag: [UInt8]) -> Int? {
        let name = "ETag: ".utf8
        let isFirst = withUnsafeReadableBytes { lines in
            lines.starts(with: name) && lines.dropFirst(name.count).starts(with: tag)
        }
        return isFirst ? readerIndex &+ name.count : nil
    }
}
