import HTTPSemantics
import NIOCore

/// Finds a request head in bytes that grow from call to call: the request line, the fields, and what they say together.
struct RequestHeadScanner {
    private var requestLine = RequestLineScanner()
    private var fieldLines = FieldLineScanner()
    private var framing = FramingFields()
    private var method = Method.other
    private var isInFields = false

    /// Scans on, and tells whether the head is complete.
    mutating func scan(_ bytes: UnsafeRawBufferPointer, _ limits: MessageLimits) throws(HTTP1Error) -> Bool {
        if !isInFields {
            guard try requestLine.scan(bytes, limits) else { return false }
            isInFields = true
            framing.version = requestLine.version
            fieldLines.beginHeaders(at: requestLine.position, limits, noting: FramingFields.requestNames)
        }
        guard try fieldLines.scan(bytes, noting: &framing) else { return false }
        method = Method(bytes.rebased(requestLine.methodRange))
        return true
    }

    /// The length of the complete head.
    var length: Int { fieldLines.position }

    /// The complete head, whose bytes these are; the scanner then expects another.
    mutating func finish(_ bytes: ByteBuffer) throws(HTTP1Error) -> (RequestHead, BodyFraming) {
        let bodyFraming = try framing.requestFraming(method)
        let present = fieldLines.present
        let fields = FieldSection(bytes: bytes, lines: fieldLines.takeLines(), present: present)
        let head = RequestHead(
            method: method, version: requestLine.version, methodRange: requestLine.methodRange,
            targetRange: requestLine.targetRange, fields: fields)
        requestLine = RequestLineScanner()
        framing = FramingFields()
        isInFields = false
        return (head, bodyFraming)
    }

    mutating func recycle(_ lines: inout ContiguousArray<FieldSection.Line>) { fieldLines.recycle(&lines) }
}
