public import Archives
import HTTP1
import HTTPSemantics
import NIOCore

/// An exchange on its way to a recorder, its texts in one piece of memory.
///
/// What one thread makes and another lets go of costs either of them for each piece of memory, and there are two for a
/// field. So the recorder's thread takes it apart.
public struct PackedExchange: Sendable {
    /// Each behind its length, four bytes: method, URL, and names and values of the request's fields; reason, and names
    /// and values of the response's fields.
    private var texts: [UInt8] = []
    /// Where the response's texts begin.
    private var responseStart = 0
    public private(set) var status = 200
    /// Whether the response has no body by the request's method.
    public let isHead: Bool
    /// Nil where none was recorded.
    public var requestBody: [UInt8]?
    /// The bytes of the response's body as it came.
    public var storedBytes = 0
    /// When the exchange began: Unix milliseconds.
    public var time: Int64 = 0
    /// How long it took, in milliseconds.
    public var duration: Int64 = 0
    /// When it began, and when the head of its response came, by the clock that never steps back: nanoseconds.
    public var startedAt: UInt64 = 0
    public var answeredAt: UInt64 = 0

    /// - Parameters:
    ///   - asked: the URL that the client has asked for.
    ///   - isUnvalidated: whether If-None-Match and If-Modified-Since are not sent on.
    init(_ head: RequestHead, asked: TargetURI, isUnvalidated: Bool) {
        isHead = head.method == .head
        // The response's head has room too.
        texts.reserveCapacity(1024 + head.fields.bytes.readableBytes)
        append(head.methodBytes)
        let target = asked.rawPathAndQuery.readableBytesView
        append(count: asked.pathStart + target.count)
        asked.withBytes { texts.append(contentsOf: $0.prefix(asked.pathStart)) }
        texts.append(contentsOf: target)
        let hopByHop = HopByHop(head.fields)
        append(head.fields) { line in
            if isUnvalidated, line.name == .ifNoneMatch || line.name == .ifModifiedSince { return false }
            return !hopByHop.isConnectionLevel(line)
        }
        responseStart = texts.count
    }

    /// - Parameter exchange: of the body, its length alone is kept; the codings are those of the fields.
    public init(_ exchange: RecordedExchange) {
        isHead = exchange.method == "HEAD"
        append(exchange.method.utf8)
        append(exchange.url)
        append(exchange.requestFields)
        responseStart = texts.count
        status = exchange.status
        append(exchange.reason)
        append(exchange.fields)
        requestBody = exchange.requestBody
        storedBytes = exchange.body.storedBytes
        time = exchange.time ?? 0
        duration = exchange.duration ?? 0
    }

    mutating func setResponse(_ head: ResponseHead) {
        texts.removeSubrange(responseStart...)
        status = head.status
        head.withReason { append($0) }
        append(head.fields) { _ in true }
    }

    private mutating func append(count: Int) {
        withUnsafeBytes(of: UInt32(clamping: count).littleEndian) { texts.append(contentsOf: $0) }
    }

    private mutating func append(_ text: some Collection<UInt8>) {
        append(count: text.count)
        texts.append(contentsOf: text)
    }

    private mutating func append(_ fields: FieldSection, _ isKept: (FieldSection.Line) -> Bool) {
        for line in fields.lines where isKept(line) {
            fields.withName(line) { append($0) }
            fields.withValue(line) { append($0) }
        }
    }

    private mutating func append(_ fields: [RecordedField]) {
        for field in fields {
            append(field.name)
            append(field.value)
        }
    }

    // MARK: The recorder's side

    /// The URL that the client has asked for.
    public var url: ArraySlice<UInt8> {
        var reader = Reader(texts)
        _ = reader.next()
        return reader.next()
    }

    /// The exchange with all that is known of it.
    public func exchange() -> RecordedExchange {
        var reader = Reader(texts)
        var exchange = RecordedExchange()
        exchange.method = String(decoding: reader.next(), as: UTF8.self)
        exchange.url = Array(reader.next())
        exchange.requestFields = reader.fields(until: responseStart)
        exchange.requestBody = requestBody
        exchange.status = status
        exchange.reason = Array(reader.next())
        exchange.fields = reader.fields(until: texts.count)
        exchange.body.codings = ContentDecoder.codings(of: exchange.fields)
        exchange.body.storedBytes = storedBytes
        exchange.body.size = storedBytes
        exchange.time = time
        exchange.duration = duration
        return exchange
    }

    private struct Reader {
        private let texts: [UInt8]
        private var position = 0

        init(_ texts: [UInt8]) { self.texts = texts }

        /// The next text; an empty one behind the last.
        mutating func next() -> ArraySlice<UInt8> {
            guard texts.count - position >= 4 else { return [] }
            let count = (0..<4).reduce(0) { $0 | Int(texts[position + $1]) << ($1 * 8) }
            let start = position + 4
            position = min(start + count, texts.count)
            return texts[start..<position]
        }

        mutating func fields(until end: Int) -> [RecordedField] {
            var fields: [RecordedField] = []
            fields.reserveCapacity(16)
            while position < end {
                let name = Array(next())
                fields.append(RecordedField(name, Array(next())))
            }
            return fields
        }
    }
}
