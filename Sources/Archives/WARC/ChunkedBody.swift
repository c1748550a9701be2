import Basics
import HTTPSemantics

/// Takes the chunked coding off a recorded body (RFC 9112 §7.1), as far as it has it: one whose first line is no
/// chunk's is taken as it is, and one with a broken chunk ends there.
struct ChunkedBody {
    private enum State {
        case size
        case data(Int)
        case dataEnd
        case trailers
        case over
        /// It is not chunked.
        case plain
    }

    private var state = State.size
    private var line: [UInt8] = []
    private var isFirst = true
    /// Whether it ended before it was complete.
    private(set) var isBroken = false

    /// Whether nothing that follows belongs to the body.
    var isOver: Bool { if case .over = state { true } else { false } }

    /// The most bytes of the line that a chunk begins with.
    private static let mostLineBytes = 4096

    /// Decodes the next bytes.
    mutating func decode(_ bytes: UnsafeRawBufferPointer, into body: inout [UInt8]) {
        var index = 0
        while index < bytes.count {
            switch state {
            case .plain:
                body += bytes[index...]
                return
            case .over: return
            case .data(let length):
                let part = min(length, bytes.count - index)
                body += bytes[index..<index + part]
                index += part
                state = part == length ? .dataEnd : .data(length - part)
            case .size, .dataEnd, .trailers:
                line.append(bytes[index])
                index += 1
                if line.last == 0x0A || line.count > ChunkedBody.mostLineBytes { endLine(&body) }
            }
        }
    }

    /// Tells that nothing follows.
    mutating func finish(into body: inout [UInt8]) {
        switch state {
        case .plain, .over: return
        case .trailers: break
        case .size where isFirst: body += line
        case .size, .data, .dataEnd: isBroken = true
        }
        state = .over
    }

    private mutating func endLine(_ body: inout [UInt8]) {
        defer { line.removeAll(keepingCapacity: true) }
        let text = line.last == 0x0A ? line.dropLast() : line[...]
        let isEmpty = text.allSatisfy { $0 == 0x0D }
        switch state {
        case .dataEnd where isEmpty: state = .size
        case .trailers: if isEmpty { state = .over }
        case .size:
            guard line.last == 0x0A, let size = ChunkedBody.size(text) else { fallthrough }
            isFirst = false
            state = size == 0 ? .trailers : .data(size)
        default:
            if isFirst {
                body += line
                state = .plain
            } else {
                isBroken = true
                state = .over
            }
        }
    }

    /// `1*HEXDIG`, and blanks or extensions behind it.
    private static func size(_ text: ArraySlice<UInt8>) -> Int? {
        let digits = text.prefix { $0.hexValue != nil }
        guard (1...15).contains(digits.count) else { return nil }
        let rest = text.dropFirst(digits.count).drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        guard rest.isEmpty || rest.first == UInt8(ascii: ";") else { return nil }
        return digits.reduce(0) { $0 << 4 | Int($1.hexValue ?? 0) }
    }
}

/// A body without the chunked coding.
struct ChunkedStream: BodyStream {
    private var source: any BodyStream
    private var body = ChunkedBody()
    private var hasMore = true

    init(_ source: any BodyStream) { self.source = source }

    mutating func read(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Bool {
        let end = bytes.count + max(count, 1)
        var input: [UInt8] = []
        while bytes.count < end, hasMore, !body.isOver {
            input.removeAll(keepingCapacity: true)
            hasMore = try source.read(end - bytes.count, into: &input)
            input.withUnsafeBytes { body.decode($0, into: &bytes) }
            if !hasMore { body.finish(into: &bytes) }
        }
        return hasMore && !body.isOver
    }
}

/// The rest of a record's block while it is read.
struct BlockStream: BodyStream {
    private let source: RecordSource
    private var rest: Int

    init(_ source: RecordSource, count: Int) {
        self.source = source
        rest = count
    }

    mutating func read(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Bool {
        var wanted = min(max(count, 1), rest)
        while wanted > 0 {
            guard try source.fill(1) else { throw .error("the record is cut short", at: source.place) }
            let part = min(wanted, source.window.count)
            bytes += source.window[..<part]
            _ = try source.skip(part)
            wanted -= part
            rest -= part
        }
        return rest > 0
    }
}
