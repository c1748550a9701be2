import HTTPSemantics
import NIOCore

/// Finds a request head in bytes that grow from call to call: the request line, the fields, and what they say together.
struct RequestHeadScanner {
    private var requestLine = RequestLineScanner()
    private var fieldLines = FieldLineScanner()
    private var fieldFraming = FramingFields()
    private var method = Method.other
    private var isInFields = false
    private var memo = FieldMemo()
    private var isFromMemo = false

    /// Scans on, and tells whether the head is complete.
    mutating func scan(_ bytes: UnsafeRawBufferPointer, _ limits: MessageLimits) throws(HTTP1Error) -> Bool {
        if !isInFields {
            guard try requestLine.scan(bytes, limits) else { return false }
            isInFields = true
            fieldFraming.version = requestLine.version
            fieldLines.beginHeaders(at: requestLine.position, limits, noting: FramingFields.requestNames)
            if let displacement = memo.displacement(at: requestLine.position, in: bytes, requestLine.version) {
                fieldLines.adopt(memo, displacement: displacement)
                fieldFraming = memo.framing
                isFromMemo = true
            }
        }
        if !isFromMemo {
            guard try fieldLines.scan(bytes, noting: &fieldFraming) else { return false }
        }
        method = Method(bytes.rebased(requestLine.methodRange))
        return true
    }

    /// The length of the complete head.
    var length: Int { fieldLines.position }

    /// How the end of the body is found, once the head is complete.
    func framing() throws(HTTP1Error) -> BodyFraming { try fieldFraming.requestFraming(method) }

    /// The complete head, whose bytes these are; the scanner then expects another.
    mutating func takeHead(_ bytes: ByteBuffer) -> RequestHead {
        let present = fieldLines.present
        if !isFromMemo { memo.keep(bytes, from: requestLine.position, fieldLines.lines, present, fieldFraming) }
        isFromMemo = false
        let fields = FieldSection(bytes: bytes, lines: fieldLines.takeLines(), present: present)
        let head = RequestHead(
            method: method, version: requestLine.version, methodRange: requestLine.methodRange,
            targetRange: requestLine.targetRange, fields: fields)
        requestLine = RequestLineScanner()
        fieldFraming = FramingFields()
        isInFields = false
        return head
    }

    mutating func recycle(_ lines: inout ContiguousArray<FieldSection.Line>) { fieldLines.recycle(&lines) }
}
