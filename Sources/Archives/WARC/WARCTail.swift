import HTTPSemantics

/// Where a WARC file ends, as whoever appends records to it has to know.
///
/// Unlike reading, which goes on behind damage, this takes nothing for a record that is not in its place.
public enum WARCTail: Sendable, Equatable {
    /// Behind a whole record.
    case whole
    /// Within a record, or a gzip member, that begins at this place: all before it are whole records, and it is the
    /// last.
    case torn(at: Int)
    /// Behind a record whose end is missing: these bytes belong at this place.
    case unterminated(at: Int, missing: [UInt8])
    /// Neither can be said: it is damaged, or no WARC.
    case unclear

    private static let part = 262_144

    /// Goes through a file from its beginning. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where it can't be read.
    public init(_ bytes: ArchiveBytes, isCompressed: Bool) throws(ArchiveProblem) {
        if isCompressed {
            var walk = try MemberWalk(bytes)
            self = try walk.run()
        } else {
            self = try WARCTail.ofRecords(bytes)
        }
    }

    private static func ofRecords(_ bytes: ArchiveBytes) throws(ArchiveProblem) -> WARCTail {
        var walk = RecordWalk()
        while walk.position < bytes.count {
            let part = try bytes.read(at: walk.position, upTo: part)
            part.withUnsafeBytes { walk.take($0) }
            if walk.isWrong || part.isEmpty { return .unclear }
        }
        guard walk.begun > 0 else { return .unclear }
        if walk.isBehindRecord { return .whole }
        if walk.isBehindBlock { return .unterminated(at: walk.blockEnd, missing: WARCMessage.recordEnd) }
        // Its length may be wrong, and the records behind it may be whole.
        return try hasRecord(bytes, from: walk.start + 5) ? .unclear : .torn(at: walk.start)
    }

    /// Whether a record seems to begin at a place or behind it.
    private static func hasRecord(_ bytes: ArchiveBytes, from start: Int) throws(ArchiveProblem) -> Bool {
        var position = start
        while position < bytes.count {
            let part = try bytes.read(at: position, upTo: part)
            if part.withUnsafeBytes({ RecordScanner.findRecord($0) }) != nil { return true }
            // What tells it may be cut.
            position += part.count > 64 ? part.count - 64 : part.count
            if part.isEmpty || position + 64 >= bytes.count { return false }
        }
        return false
    }
}

/// Takes the bytes of records one behind the other.
private struct RecordWalk {
    private enum State { case between, head, block, wrong }

    private var state = State.between
    /// Those behind the last block. Nothing stands before the first record that needs any.
    private var lineEnds = 2
    private var head = RecordHead()
    private var headBytes: [UInt8] = []
    private var left = 0
    /// How many bytes were taken.
    private(set) var position = 0
    /// Where the last record begins, and where the last whole block ends.
    private(set) var start = 0
    private(set) var blockEnd = 0
    /// How many records have begun.
    private(set) var begun = 0

    var isWrong: Bool { state == .wrong }
    /// Whether the last record is whole, or there was none.
    var isBehindRecord: Bool { state == .between && lineEnds >= 2 }
    /// Whether a block is whole, and not the two line ends behind it.
    var isBehindBlock: Bool { state == .between && lineEnds < 2 }

    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        var index = 0
        while index < bytes.count, state != .wrong {
            switch state {
            case .between:
                if bytes[index] == 0x0A || bytes[index] == 0x0D {
                    if bytes[index] == 0x0A { lineEnds += 1 }
                    index += 1
                    continue
                }
                start = position + index
                begun += 1
                headBytes.removeAll(keepingCapacity: true)
                state = lineEnds >= 2 ? .head : .wrong
            case .head: index += takeHead(bytes.rebased(index..<min(bytes.count, index + 4096)))
            case .block:
                let count = min(left, bytes.count - index)
                index += count
                left -= count
            case .wrong: break
            }
            // A block may have no bytes.
            if state == .block, left == 0 { endBlock(at: position + index) }
        }
        position += bytes.count
    }

    /// - Returns: how many of the bytes are the head's.
    private mutating func takeHead(_ bytes: UnsafeRawBufferPointer) -> Int {
        headBytes += bytes
        let isHead = zip(headBytes, "WARC/".utf8).allSatisfy { $0 == $1 }
        guard isHead, headBytes.withUnsafeBytes({ head.parse($0) }) else {
            if !isHead || headBytes.count > RecordHead.mostBytes { state = .wrong }
            return bytes.count
        }
        let isWhole = head.next == nil && head.bytes.count <= RecordHead.mostBytes
        left = head.contentLength
        state = isWhole && left >= 0 ? .block : .wrong
        return bytes.count - (headBytes.count - head.bytes.count)
    }

    private mutating func endBlock(at end: Int) {
        lineEnds = 0
        blockEnd = end
        state = .between
    }
}

/// Goes through the gzip members of a file, and the records in them.
private struct MemberWalk {
    private let bytes: ArchiveBytes
    private let inflater: Inflater
    private var walk = RecordWalk()
    private var input: [UInt8] = []
    private var low = 0
    private var inputEnd = 0
    private var output = [UInt8](repeating: 0, count: 65_536)
    /// Where the member begins, how many records had begun before it, and whether it begins behind a whole record.
    private var member = (start: 0, begun: 0, isBehindRecord: true)
    /// The member in which the last record begins, and whether it is the first there, with nothing of another before
    /// it.
    private var record = (member: 0, isFirst: true)

    init(_ bytes: ArchiveBytes) throws(ArchiveProblem) {
        self.bytes = bytes
        inflater = try Inflater(.gzip)
    }

    private var place: Int { inputEnd - (input.count - low) }

    mutating func run() throws(ArchiveProblem) -> WARCTail {
        while place < bytes.count {
            try fill(2)
            guard input[low...].starts(with: [0x1F, 0x8B].prefix(input.count - low)) else { return .unclear }
            member = (place, walk.begun, walk.isBehindRecord)
            inflater.reset(.gzip)
            if let end = try runMember() { return end }
        }
        if walk.isBehindRecord { return walk.begun > 0 ? .whole : .unclear }
        return walk.isBehindBlock ? .unclear : torn
    }

    /// Goes through a member.
    ///
    /// - Returns: what is said of the file, where it ends within the member, or there is damage; else nil.
    private mutating func runMember() throws(ArchiveProblem) -> WARCTail? {
        while true {
            try fill(1)
            let hasInput = low < input.count
            let step = input.withUnsafeBytes { input in
                output.withUnsafeMutableBytes { inflater.decode(input.rebased(low..<input.count), into: $0) }
            }
            low += step.consumed
            take(step.produced)
            if walk.isWrong { return .unclear }
            switch step.state {
            case .complete: return nil
            case .failed: return .unclear
            case .open:
                guard step.produced == 0, !hasInput else { continue }
                if walk.isBehindRecord, walk.begun > member.begun, let missing = inflater.missingEnd {
                    return .unterminated(at: bytes.count, missing: missing)
                }
                return torn
            }
        }
    }

    private mutating func take(_ count: Int) {
        guard count > 0 else { return }
        let begun = walk.begun
        output.withUnsafeBytes { walk.take($0.rebased(0..<count)) }
        guard walk.begun > begun else { return }
        record = (member.start, member.isBehindRecord && walk.begun == member.begun + 1)
    }

    /// The file ends within a member, or within a record.
    private var torn: WARCTail {
        // Nothing has begun in the member.
        if walk.isBehindRecord, walk.begun == member.begun {
            return member.isBehindRecord ? .torn(at: member.start) : .unclear
        }
        // A record in a member without its end is not whole.
        return record.isFirst ? .torn(at: record.member) : .unclear
    }

    /// Reads on where fewer bytes than these are left of what was read.
    private mutating func fill(_ count: Int) throws(ArchiveProblem) {
        guard input.count - low < count, inputEnd < bytes.count else { return }
        let start = place
        input = try bytes.read(at: start, upTo: 65_536)
        low = 0
        inputEnd = start + input.count
        if input.isEmpty { throw .cutShort(at: start) }
    }
}
