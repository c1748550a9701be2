/// A line of a recorded header section; the bytes are as recorded.
public struct RecordedField: Sendable, Equatable {
    public var name: [UInt8]
    public var value: [UInt8]

    public init(_ name: [UInt8], _ value: [UInt8]) {
        self.name = name
        self.value = value
    }

    public init(_ name: String, _ value: String) { self.init(Array(name.utf8), Array(value.utf8)) }

    /// Whether this is its name, whatever the case of ASCII letters.
    public func isNamed(_ other: StaticString) -> Bool {
        name.count == other.utf8CodeUnitCount
            && other.withUTF8Buffer { zip($0, name).allSatisfy { $0 | 0x20 == $1 | 0x20 || $0 == $1 } }
    }

    /// Whether it holds for the body's bytes alone, with their content codings (RFC 9530; Content-MD5 of RFC 2616,
    /// Digest of RFC 3230).
    public var isDigest: Bool {
        isNamed("content-md5") || isNamed("digest") || isNamed("content-digest") || isNamed("repr-digest")
    }
}

/// A recorded request and its response, without the response's body, which ``Archive/openBody(_:)`` reads.
///
/// The fields of the response are those that the format's own rules make of what is recorded, such as a Content-Type
/// that a HAR has in `mimeType` alone. What no archive sends is still among them (``OutgoingFields``).
public struct RecordedExchange: Sendable {
    public var method = "GET"
    /// The URL as recorded, without a fragment.
    public var url: [UInt8] = []
    public var requestFields: [RecordedField] = []
    /// Nil where none was recorded.
    public var requestBody: [UInt8]?
    /// The media type of that body as the archive tells it beside the fields; empty where it doesn't.
    public var requestType: [UInt8] = []
    public var status = 200
    public var reason: [UInt8] = []
    public var fields: [RecordedField] = []
    public var body = RecordedBody()
    /// When the exchange began: Unix milliseconds; nil where the archive doesn't say.
    public var time: Int64?
    /// How long it took, in milliseconds; nil where nothing says.
    public var duration: Int64?
    /// The version of HTTP as HARs have it, such as `HTTP/1.1` or `h2`; empty where nothing says.
    public var version: [UInt8] = []
    /// The IP address that answered; empty where nothing says.
    public var serverAddress: [UInt8] = []
    /// Which of the archive's pages it belongs to, from 0; nil where the archive doesn't say.
    public var page: Int?

    /// Bytes of a request's body that is read; a longer one is as if it had not been recorded.
    static let mostRequestBytes = 16 << 20

    public init() {}

    /// The value of the first field of this name.
    public func value(_ name: StaticString) -> [UInt8]? { fields.first { $0.isNamed(name) }?.value }

    /// Has the request's Content-Length, where there is one, say how long its body is that was changed; takes it out
    /// where the body was.
    public mutating func correctRequestLength() {
        guard let count = requestBody?.count else { return requestFields.removeAll { $0.isNamed("content-length") } }
        for index in requestFields.indices where requestFields[index].isNamed("content-length") {
            requestFields[index].value = Array("\(count)".utf8)
        }
    }
}

/// What is known of a response's body before it is read.
public struct RecordedBody: Sendable, Equatable {
    /// Whether there is none to read, since none was recorded; an empty one is recorded.
    public var isMissing = false
    /// The bytes that it has in the archive, coded as it is there: limits of decoding go by them.
    public var storedBytes = 0
    /// Its length as ``Archive/openBody(_:)`` gives it; nil where only reading it tells.
    public var size: Int?
    /// The content codings that it still has when it is read, in the order of Content-Encoding; a Content-Encoding
    /// field that doesn't hold is not among ``RecordedExchange/fields`` any more.
    public var codings: [String] = []
    /// Whether a part of it can be read without what is before it: it stands in a file as it is.
    public var isSeekable = false
    /// Of one in a file of its own, a text that another state of that file does not have; nil where the archive's own
    /// file has it.
    public var fileState: String?
    /// Whether that file may change while the archive is in force: an edit of a recording's counts at once, and one of
    /// a HAR's makes it another archive.
    public var fileMayChange = false
    /// Whether it is not the bytes that the origin sent: then no ETag is made from them. Where ``size`` is nil it may
    /// be them all the same, and ``BodyStream/isRewritten`` tells.
    public var isRewritten = false

    public init() {}
}

/// Reads a body from its beginning to its end.
public protocol BodyStream {
    /// Appends the next bytes: about `count`, fewer than twice that, where there are so many.
    ///
    /// - Returns: whether more may follow; false once at the end.
    /// - Throws: ``ArchiveProblem`` where the rest can't be read or decoded.
    mutating func read(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Bool

    /// Passes over bytes: without reading them where the body can be read from any place on.
    ///
    /// - Throws: ``ArchiveProblem`` where what had to be read can't be.
    mutating func skip(_ count: Int) throws(ArchiveProblem)

    /// Whether any of what was read is written otherwise than it was recorded.
    var isRewritten: Bool { get }
}

extension BodyStream {
    public var isRewritten: Bool { false }

    /// Reads the bytes, and throws them away.
    ///
    /// - Throws: ``ArchiveProblem`` where they can't be read.
    public mutating func skip(_ count: Int) throws(ArchiveProblem) { try readOver(count) }

    mutating func readOver(_ count: Int) throws(ArchiveProblem) {
        var bytes: [UInt8] = []
        var left = count
        var isMore = true
        while left > 0, isMore {
            bytes.removeAll(keepingCapacity: true)
            // A stream may give twice as much as it is asked for.
            isMore = try read(max(1, min(left, 65_536) / 2), into: &bytes)
            left -= bytes.count
        }
    }
}

/// A body that is in memory.
public struct MemoryStream: BodyStream {
    private let bytes: [UInt8]
    private var position = 0

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Appends the next bytes.
    ///
    /// - Throws: Nothing.
    public mutating func read(_ count: Int, into target: inout [UInt8]) throws(ArchiveProblem) -> Bool {
        let end = min(bytes.count, position + max(count, 1))
        target.append(contentsOf: bytes[position..<end])
        position = end
        return position < bytes.count
    }
}

/// A body that is a range of the archive's file as it stands.
public struct RangeStream: BodyStream {
    private let source: ArchiveBytes
    private var range: Range<Int>

    public init(_ source: ArchiveBytes, _ range: Range<Int>) {
        self.source = source
        self.range = range
    }

    /// Appends the next bytes.
    ///
    /// - Throws: ``ArchiveProblem`` where the archive's file can't be read, or ends before the range does.
    public mutating func read(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Bool {
        guard !range.isEmpty else { return false }
        let end = min(range.upperBound, range.lowerBound + max(count, 1))
        bytes += try source.read(range.lowerBound..<end)
        range = end..<range.upperBound
        return !range.isEmpty
    }

    /// Passes over bytes without reading them.
    ///
    /// - Throws: Nothing.
    public mutating func skip(_ count: Int) throws(ArchiveProblem) {
        range = min(range.upperBound, range.lowerBound + max(count, 0))..<range.upperBound
    }
}

extension BodyStream {
    /// Reads all that is left, piece by piece.
    ///
    /// - Throws: ``ArchiveProblem`` where it can't be read, and what `body` throws.
    public func forEachPiece(_ body: ([UInt8]) throws(ArchiveProblem) -> Void) throws(ArchiveProblem) {
        var stream = self
        var isMore = true
        var bytes: [UInt8] = []
        while isMore {
            bytes.removeAll(keepingCapacity: true)
            isMore = try stream.read(65_536, into: &bytes)
            try body(bytes)
        }
    }

    /// Reads all that is left, and throws it away.
    ///
    /// - Throws: ``ArchiveProblem`` where it can't be read.
    func discard() throws(ArchiveProblem) {
        var stream = self
        var bytes: [UInt8] = []
        while try stream.read(65_536, into: &bytes) { bytes.removeAll(keepingCapacity: true) }
    }

    /// Reads all that is left, up to a limit.
    ///
    /// - Throws: ``ArchiveProblem`` where it can't be read, or is longer.
    public mutating func readAll(limit: Int) throws(ArchiveProblem) -> [UInt8] {
        var bytes: [UInt8] = []
        while try read(65_536, into: &bytes) {
            guard bytes.count <= limit else { break }
        }
        guard bytes.count <= limit else {
            throw ArchiveProblem(.error, "the body is longer than \(limit) bytes")
        }
        return bytes
    }
}
