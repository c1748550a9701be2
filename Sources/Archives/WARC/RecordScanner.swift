import Glibc
import HTTPSemantics

/// Goes through the records of a WARC file, over damage too.
final class RecordScanner {
    /// A record whose block is next.
    struct Record {
        var head: RecordHead
        /// Where it begins: in the file, or its member does.
        var offset: Int
        /// Where it begins in its member.
        var inner: Int
    }

    /// What is not passed over yet of a record.
    private struct Block {
        /// Where its record begins, as for ``Record``.
        var offset: Int
        /// Of the source's positions.
        var start: Int
        var end: Int
    }

    /// The most places of damage that are passed over.
    static let mostDamages = 10_000

    let source: RecordSource
    private var warnings: [ArchiveProblem] = []
    /// The head of the record that was begun last. Its memory is used for the next one too, unless that one is kept.
    private var head = RecordHead()
    private var block: Block?
    /// Whether the window is known to begin with `WARC/`.
    private var isAtRecord = false
    private var damages = 0
    private var isStarted = false
    /// Where a gzip member ends that a record was too long for, and what is said of such records.
    private var knownEnd: (member: Int, position: Int, words: String)?
    /// The bytes of a compressed file's blocks, each counted once, and those that were decoded again.
    private var passed = 0
    private var passedEnd = (member: -1, position: 0)
    private var decodedAgain = 0
    /// What was decoded and read of damaged members in which the next one was looked for.
    private var readAgain = 0
    private var isOneMemberTold = false

    init(_ source: RecordSource) { self.source = source }

    /// Takes the warnings that there are since the last time: of damage, and of what was passed over.
    func takeWarnings() -> [ArchiveProblem] {
        guard !warnings.isEmpty else { return [] }
        defer { warnings = [] }
        return warnings
    }

    /// Goes to the next record. What is left of the block before is passed over.
    ///
    /// - Returns: nil at the end.
    /// - Throws: ``ArchiveProblem`` where the file can't be read, or is no WARC.
    func next() throws(ArchiveProblem) -> Record? {
        if block != nil { _ = try finish() }
        while true {
            guard try begin() else { return nil }
            let start = (offset: source.place, inner: source.isCompressed ? source.position : 0)
            guard try readHead() else { continue }
            let (blockEnd, isOver) = source.position.addingReportingOverflow(head.contentLength)
            guard head.contentLength >= 0, !isOver else {
                try passDamage("the record has no Content-Length")
                continue
            }
            tellOneMember(start.inner)
            if let known = knownEnd, known.member == start.offset, blockEnd > known.position {
                try count(known.words, at: start.offset)
                try find(isAtLine: true)
                continue
            }
            block = Block(offset: start.offset, start: source.position, end: blockEnd)
            return Record(head: head, offset: start.offset, inner: start.inner)
        }
    }

    /// The bytes that the rest of the block begins with: `count` or more, fewer where there are fewer.
    func peek(_ count: Int) throws(ArchiveProblem) -> UnsafeRawBufferPointer {
        let rest = rest
        _ = try source.fill(min(count, rest))
        let window = source.window
        return window.rebased(0..<min(window.count, rest))
    }

    /// How many bytes of the block are left.
    var rest: Int { block.map { $0.end - source.position } ?? 0 }

    /// Passes over some bytes of the block.
    func advance(_ count: Int) throws(ArchiveProblem) { _ = try source.skip(min(count, rest)) }

    /// Passes over the rest of the block.
    ///
    /// - Returns: whether it is there as the head says; where it is not, the record is none, and a warning is told.
    func finish() throws(ArchiveProblem) -> Bool {
        guard let block else { return true }
        self.block = nil
        if source.isCompressed { return try finishInMember(block) }
        guard try source.skip(block.end - source.position) else {
            source.seek(block.start - 1)
            try passDamage("the record is cut short", at: block.offset)
            return false
        }
        return try checkEnd(block)
    }

    /// Whether a record or nothing follows the block in a plain file. Where neither does, and no empty lines do, the
    /// length is wrong: what it says to belong to the block may be records.
    private func checkEnd(_ block: Block) throws(ArchiveProblem) -> Bool {
        let hasSeparator = try passNewlines() >= 2
        guard try source.fill(5) else { return true }
        if source.window.begins(with: "WARC/") {
            isAtRecord = true
            return true
        }
        let end = source.position
        if hasSeparator, try !endsInRecord(block) {
            source.seek(end)
            try passDamage("no record follows the one before")
            return true
        }
        source.seek(block.start - 1)
        try find()
        if source.position >= end {
            try count("no record follows the one before", at: end)
            return true
        }
        try count("the record's length is wrong", at: block.offset)
        return false
    }

    /// Whether the block of a plain file ends in the middle of another record, of those that begin in its last 256 KiB.
    /// Records that are whole in it may be what was recorded.
    private func endsInRecord(_ block: Block) throws(ArchiveProblem) -> Bool {
        var last: Int?
        source.seek(max(block.start - 1, block.end - RecordHead.mostBytes))
        while true {
            try find()
            guard source.position < block.end, try source.fill(5) else { break }
            last = source.position
            _ = try source.skip(5)
        }
        guard let last else { return false }
        source.seek(last)
        _ = try source.fill(min(RecordHead.mostBytes, source.range.upperBound - last))
        guard let head = RecordHead(source.window) else { return false }
        let (end, isOver) = (last + head.bytes.count).addingReportingOverflow(max(head.contentLength, 0))
        return isOver || end > block.end
    }

    // MARK: Blocks of compressed files

    /// The same in a compressed file. Where the length is wrong, what it says to belong to the block is decoded again.
    private func finishInMember(_ block: Block) throws(ArchiveProblem) -> Bool {
        let isThere = try source.skip(block.end - source.position)
        source.isInRecord = false
        guard isThere else {
            let isLast = source.filePosition >= source.range.upperBound
            let words = "the record is cut short" + (isLast ? "" : " (\(source.damage ?? "its member ends before it"))")
            knownEnd = (block.offset, source.position, words)
            note(block, upTo: source.position)
            try count(words, at: block.offset)
            guard !source.isJoined else {
                try separate(block)
                return false
            }
            var isBack = false
            if mayGoBack(block, from: source.position, times: 1) { isBack = try goBack(block, to: block.start) }
            try find(isAtLine: isBack)
            return false
        }
        note(block, upTo: block.end)
        return try checkEndInMember(block)
    }

    /// Whether a record or nothing follows the block in its member, as for a plain file.
    private func checkEndInMember(_ block: Block) throws(ArchiveProblem) -> Bool {
        let hasSeparator = try passNewlines() >= 2
        guard try source.fill(5) else {
            if hasSeparator { return true }
            return try isWhole(block)
        }
        guard !source.window.begins(with: "WARC/") else { return true }
        guard !source.isJoined else {
            guard !hasSeparator else { return true }
            try count("the record's length is wrong", at: block.offset)
            try separate(block)
            return false
        }
        let end = source.position
        // Where the length is right, what is here is told when the next record is looked for.
        guard mayGoBack(block, from: end, times: 3), try goBack(block, to: block.start) else { return true }
        try find(isAtLine: true)
        let first = source.position
        var isRight = !isInside(block, end)
        if isRight, !hasSeparator, source.lastDamage?.member == block.offset { return try isWhole(block) }
        if !isRight, hasSeparator { isRight = try !endsInRecordOfMember(block) }
        guard !isRight else {
            _ = try goBack(block, to: end)
            return true
        }
        if source.position != first { _ = try goBack(block, to: first) }
        try count("the record's length is wrong", at: block.offset)
        return false
    }

    /// Looks for the next record in the members that one with a wrong length seemed to go on in, from its block on.
    private func separate(_ block: Block) throws(ArchiveProblem) {
        var isBack = false
        // What stands before the block in its piece is decoded once more, too.
        let (before, behind) = (max(0, block.start - source.piece.position), source.position - block.start)
        if mayReadAgain(before + behind + source.filePosition - source.piece.member) {
            isBack = try source.separate(from: block.start)
        }
        try find(isAtLine: isBack)
    }

    /// Whether a block without empty lines behind it is all of it what was written: in a member that is damaged its end
    /// may be anything, such as what was decoded of the next member. The record is passed over then.
    private func isWhole(_ block: Block) throws(ArchiveProblem) -> Bool {
        guard let damage = source.lastDamage, damage.member == block.offset else { return true }
        try count("the record is cut short (\(damage.reason))", at: block.offset)
        if source.damage != nil { try find() }
        return false
    }

    /// ``endsInRecord(_:)`` from the first record on that begins in a block.
    private func endsInRecordOfMember(_ block: Block) throws(ArchiveProblem) -> Bool {
        var last = source.position
        while isInside(block, block.end) {
            last = source.position
            _ = try source.skip(5)
            try find()
        }
        guard last >= block.end - RecordHead.mostBytes, try goBack(block, to: last) else {
            return false
        }
        _ = try source.fill(RecordHead.mostBytes)
        guard let head = RecordHead(source.window) else { return false }
        let (end, isOver) = (last + head.bytes.count).addingReportingOverflow(max(head.contentLength, 0))
        return isOver || end > block.end
    }

    private func isInside(_ block: Block, _ end: Int) -> Bool {
        source.member == block.offset && source.position < end && !source.window.isEmpty
    }

    /// Counts what of a block was passed over.
    private func note(_ block: Block, upTo end: Int) {
        if passedEnd.member != block.offset { passedEnd = (block.offset, 0) }
        passed += max(0, end - max(block.start, passedEnd.position))
        passedEnd.position = max(passedEnd.position, end)
    }

    /// Whether a block may be decoded again so often: reading stays linear in the file.
    private func mayGoBack(_ block: Block, from end: Int, times: Int) -> Bool {
        // What is before the block in the state that is gone back to counts too.
        let cost = times * (end - block.start + 262_144)
        guard decodedAgain + cost <= 4 * passed + RecordScanner.mostDecodedAgain else { return false }
        decodedAgain += cost
        return true
    }

    private func goBack(_ block: Block, to place: Int) throws(ArchiveProblem) -> Bool {
        // Without a state to go on with, all that stands before the block in its member comes again.
        let more = source.distance(member: block.offset, to: place) - max(0, place - block.start) - 262_144
        if more > 0 {
            guard decodedAgain + more <= 4 * passed + RecordScanner.mostDecodedAgain else { return false }
            decodedAgain += more
        }
        return try source.goBack(member: block.offset, to: place)
    }

    private static let mostDecodedAgain = 256 << 20

    // MARK: Where records begin

    /// Goes to where the next record begins.
    ///
    /// - Returns: false at the end of the file.
    private func begin() throws(ArchiveProblem) -> Bool {
        if isAtRecord {
            isAtRecord = false
            return true
        }
        while !source.isAtEnd {
            source.isInRecord = false
            if !source.isCompressed {
                _ = try passNewlines()
                if try !source.fill(1) { return false }
            } else if isStarted {
                _ = try passNewlines()
                // The empty lines behind a record may be members of their own.
                while try source.isAtMemberEnd() {
                    guard try source.nextMember() else { return false }
                    _ = try passNewlines()
                }
            }
            let isFirst = !isStarted
            isStarted = true
            source.isInRecord = true
            if try source.fill(5), source.window.begins(with: "WARC/") {
                if source.isCompressed, source.position > 0 { try source.noteShared() }
                return true
            }
            if isFirst { try refuseOthers() }
            if source.isCompressed, source.damage == nil, try source.isAtMemberEnd() { continue }
            try passDamage("no record begins here" + (source.damage.map { " (\($0))" } ?? ""))
        }
        return false
    }

    private func refuseOthers() throws(ArchiveProblem) {
        guard try source.fill(11), source.window.starts(with: "filedesc://".utf8) else { return }
        throw ArchiveProblem(.error, "ARC is not read: 'warcio recompress' makes a .warc.gz of it", at: .file)
    }

    /// - Returns: whether ``head`` is the one of a record now.
    private func readHead() throws(ArchiveProblem) -> Bool {
        // What is there already is looked at first: mostly it is enough.
        var wanted = 6
        while true {
            let hasMore = try source.fill(wanted)
            if head.parse(source.window) {
                guard head.bytes.count <= RecordHead.mostBytes else { break }
                let place = source.place
                _ = try source.skip(head.next ?? head.bytes.count)
                guard head.next != nil else { return true }
                // It was cut, and another follows: their fields are not one record's.
                try count("the record is cut short", at: place)
                return false
            }
            guard hasMore, wanted < RecordHead.mostBytes else { break }
            wanted = min(max(source.window.count * 2, 2048), RecordHead.mostBytes)
        }
        let isLong = source.window.count >= RecordHead.mostBytes
        let place = source.place
        _ = try source.skip(5)
        try passDamage(
            isLong ? "the record's header is longer than \(RecordHead.mostBytes) bytes" : "the record is cut short",
            at: place)
        return false
    }

    private func passNewlines() throws(ArchiveProblem) -> Int {
        var lines = 0
        while try source.fill(1) {
            let window = source.window
            var end = 0
            while end < window.count, window[end] == 0x0D || window[end] == 0x0A {
                if window[end] == 0x0A { lines += 1 }
                end += 1
            }
            if end > 0 { _ = try source.skip(end) }
            if end < window.count { break }
        }
        return lines
    }

    // MARK: Damage

    /// Goes on at the next record behind damage.
    private func passDamage(_ message: String, at place: Int? = nil) throws(ArchiveProblem) {
        try count(message, at: place ?? source.place)
        try find()
    }

    private func count(_ message: String, at place: Int) throws(ArchiveProblem) {
        damages += 1
        guard damages <= RecordScanner.mostDamages else {
            throw .error("it is damaged in more than \(RecordScanner.mostDamages) places", at: place)
        }
        warnings.append(.warning(message, at: place))
    }

    /// Goes to the next place where a record begins. In a compressed file that is in the same member, or else at the
    /// beginning of another.
    ///
    /// - Parameter isAtLine: whether a line begins where reading goes on.
    private func find(isAtLine: Bool = false) throws(ArchiveProblem) {
        source.isInRecord = false
        if isAtLine, try source.fill(5), source.window.begins(with: "WARC/") { return }
        while try !findInMember(), source.isCompressed, !source.isAtEnd {
            if source.damage != nil {
                let isCheap = mayReadAgain(source.position + source.filePosition - source.member)
                guard try source.findMember(again: isCheap) else { return }
                if !source.isInBlocks { return }
            } else if source.isInBlocks {
                // Each block ends somewhere: the next one may have the beginning of a record.
                guard try source.nextMember() else { return }
            } else {
                return
            }
            if try source.fill(5), source.window.begins(with: "WARC/") { return }
        }
    }

    /// Goes to the next place in the member, or the plain file, where a record begins.
    ///
    /// - Returns: false at the end, where there is none.
    private func findInMember() throws(ArchiveProblem) -> Bool {
        var isMore = true
        while isMore {
            isMore = try source.fill(RecordScanner.mostMarkBytes + 1)
            let window = source.window
            if let place = RecordScanner.findRecord(window) {
                _ = try source.skip(place)
                return true
            }
            _ = try source.skip(isMore ? window.count - RecordScanner.mostMarkBytes : window.count)
        }
        return false
    }

    /// Whether so many bytes that were read and decoded may be looked through for the beginning of another record or
    /// member, since a damaged one may have swallowed that: reading stays linear in the file.
    private func mayReadAgain(_ cost: Int) -> Bool {
        guard readAgain + cost <= 4 * source.range.count + RecordScanner.mostDecodedAgain else { return false }
        readAgain += cost
        return true
    }

    /// Where a record begins: `WARC/` at the beginning of a line, or, behind what was cut, anywhere, if a version, the
    /// end of the line and a field follow.
    static func findRecord(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var position = 0
        while position < bytes.count, let start = bytes.baseAddress.map({ $0 + position }),
            let found = memchr(start, 0x57, bytes.count - position)
        {
            position += UnsafeRawPointer(found) - start
            let rest = bytes.rebased(position..<bytes.count)
            if rest.begins(with: "WARC/") {
                if position > 0, bytes[position - 1] == 0x0A { return position }
                if isRecord(rest) { return position }
            }
            position += 1
        }
        return nil
    }

    /// Whether bytes begin with `WARC/1.1`, the end of a line, and `WARC-`.
    static func isRecord(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.begins(with: "WARC/1."), bytes.count > 8, (0x30...0x39).contains(bytes[7]) else { return false }
        let line = bytes[8...].prefix(mostReturns + 1).drop { $0 == 0x0D }
        guard line.first == 0x0A else { return false }
        return bytes.rebased(line.startIndex + 1..<bytes.count).begins(with: "WARC-")
    }

    /// The most CR that end a line of which a record may begin behind what was cut.
    private static let mostReturns = 8
    /// The most bytes that tell that a record begins, with the one before it.
    private static let mostMarkBytes = 32

    private func tellOneMember(_ inner: Int) {
        guard inner > 0, !isOneMemberTold else { return }
        isOneMemberTold = true
        warnings.append(
            .warning(
                "several records are in one gzip member: reading one takes decoding others; 'warcio recompress' "
                    + "makes a member of each", at: source.member))
    }
}
