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
    /// Whether the memo holds the lines of the head that was taken last.
    private var memoHoldsLines = false

    /// Scans on, and tells whether the head is complete.
    mutating func scan(_ bytes: UnsafeRawBufferPointer, _ limits: MessageLimits) throws(HTTP1Error) -> Bool {
        if !isInFields {
            guard try requestLine.scan(bytes, limits) else { return false }
            isInFields = true
            if memo.isFound(at: requestLine.position, in: bytes, requestLine.version) {
                fieldFraming = memo.framing
                isFromMemo = true
            } else {
                fieldFraming.version = requestLine.version
                fieldLines.beginHeaders(at: requestLine.position, limits, noting: FramingFields.requestNames)
                let (known, end) = memo.knownLines(at: requestLine.position, in: bytes)
                try fieldLines.take(known, from: memo, upTo: end, bytes, noting: &fieldFraming)
            }
        }
        if !isFromMemo {
            guard try fieldLines.scan(bytes, noting: &fieldFraming) else { return false }
        }
        method = Method(bytes.rebased(requestLine.methodRange))
        return true
    }

    /// The length of the complete head.
    var length: Int { isFromMemo ? requestLine.position &+ memo.count : fieldLines.position }

    /// Method and target of a head under way whose request line has come, in the bytes that were scanned last.
    func requestLine(in bytes: ByteBuffer) -> (method: ByteBuffer, target: ByteBuffer)? {
        func part(_ range: Range<Int>) -> ByteBuffer? {
            bytes.getSlice(at: bytes.readerIndex &+ range.lowerBound, length: range.count)
        }
        guard isInFields, let method = part(requestLine.methodRange), let target = part(requestLine.targetRange) else {
            return nil
        }
        return (method, target)
    }

    /// How the end of the body is found, once the head is complete.
    func framing() throws(HTTP1Error) -> BodyFraming { try fieldFraming.requestFraming(method) }

    /// The complete head, whose bytes these are; the scanner then expects another.
    mutating func takeHead(_ bytes: consuming ByteBuffer) -> RequestHead {
        let fields: FieldSection
        if isFromMemo {
            memoHoldsLines = true
            fields = FieldSection(bytes: bytes, lines: memo.lines(at: requestLine.position), present: memo.present)
        } else {
            fields = FieldSection(bytes: bytes, lines: fieldLines.takeLines(), present: fieldLines.present)
            var spent = memo.takeLines()
            if !spent.isEmpty { fieldLines.recycle(&spent) }
            memoHoldsLines = memo.keep(fields, from: requestLine.position, fieldFraming)
        }
        isFromMemo = false
        let head = RequestHead(
            method: method, version: requestLine.version, methodRange: requestLine.methodRange,
            targetRange: requestLine.targetRange, fields: fields)
        requestLine = RequestLineScanner()
        fieldFraming = FramingFields()
        isInFields = false
        return head
    }

    /// Takes the storage of the lines of the head that was taken last, unless the memo goes on with it.
    mutating func recycle(_ lines: inout ContiguousArray<FieldSection.Line>) {
        if !memoHoldsLines { fieldLines.recycle(&lines) }
    }
}
