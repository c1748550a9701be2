import HTTPSemantics
import NIOCore

/// Finds a response head in bytes that grow from call to call.
struct ResponseHeadScanner {
    private var statusLine = StatusLineScanner()
    private var fieldLines = FieldLineScanner()
    private var framing = FramingFields()
    private(set) var isInFields = false

    /// Scans on, and tells whether the head is complete.
    mutating func scan(_ bytes: UnsafeRawBufferPointer, _ limits: MessageLimits) throws(HTTP1Error) -> Bool {
        if !isInFields {
            guard try statusLine.scan(bytes, limits) else { return false }
            isInFields = true
            framing.version = statusLine.version
            fieldLines.beginHeaders(at: statusLine.position, limits, noting: FramingFields.responseNames)
        }
        return try fieldLines.scan(bytes, noting: &framing)
    }

    /// The length of the complete head.
    var length: Int { fieldLines.position }
    /// The status code, once its line is complete.
    var status: Int { statusLine.status }
    /// Whether a line of the head is complete and the next one has not begun.
    var isAtLineStart: Bool { isInFields && fieldLines.isAtLineStart }

    /// The complete head, whose bytes these are; the scanner then expects another.
    mutating func finish(_ bytes: ByteBuffer) -> ResponseHead {
        let present = fieldLines.present
        let fields = FieldSection(bytes: bytes, lines: fieldLines.takeLines(), present: present)
        let head = ResponseHead(
            status: statusLine.status, version: statusLine.version, reasonRange: statusLine.reasonRange,
            fields: fields, contentLength: framing.contentLength, isChunked: framing.isChunked)
        statusLine = StatusLineScanner()
        framing = FramingFields()
        isInFields = false
        return head
    }
}
