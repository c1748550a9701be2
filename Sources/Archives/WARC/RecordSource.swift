import Glibc

/// The bytes of a WARC file in order, without gzip where it has it: a window that moves forward.
///
/// What is skipped in a plain file is not read. Of a compressed file one member is read at a time; its bytes end with
/// it, until ``nextMember()`` begins the next.
final class RecordSource {
    private let bytes: ArchiveBytes
    /// What of ``bytes`` is the WARC file.
    let range: Range<Int>
    let isCompressed: Bool
    private var buffer: UnsafeMutableRawBufferPointer
    private var low = 0
    private var high = 0
    /// Where ``window`` begins: in ``bytes``, or in the decoded member.
    private(set) var position: Int
    /// How much is read at once.
    private var stretch = leastStretch
    private static let leastStretch = 4096
    private static let mostStretch = 131_072
    /// How much is read behind a gap: what was needed behind those before, and some more.
    private var headStretch = leastStretch
    /// Where reading went on behind the last gap.
    private var gapEnd: Int

    /// Where in ``bytes`` the member begins.
    private(set) var member: Int
    /// Why the member can't be read further than it was.
    private(set) var damage: String? {
        didSet { if let damage { lastDamage = (member, damage) } }
    }
    /// The last damage, and where the member with it begins.
    private(set) var lastDamage: (member: Int, reason: String)?
    /// Whether the last member that was found behind damage is a block of `bgzip`, which begins wherever the one before
    /// it ended.
    private(set) var isInBlocks = false
    /// Whether no further member was found.
    private(set) var isAtEnd = false
    private var inflater: Inflater?
    private var isMemberOver = false
    /// Whether a record is read, which may go on in the next member, as those do that `split` or `bgzip` has cut: one
    /// that begins with no record is then taken for the rest of this one.
    var isInRecord = true {
        didSet { if isInRecord { piece = lastPiece } }
    }
    /// Where the last one of the members that are taken for one begins: in ``bytes``, and in what they have together.
    private var lastPiece: (member: Int, position: Int)
    /// The one in which the record begins.
    private(set) var piece: (member: Int, position: Int)
    /// Whether the member has the bytes of several.
    var isJoined: Bool { lastPiece.member > member }
    /// Where states are kept of members that have several records; nil where they aren't.
    private let marks: MemberMarks?
    /// Whether a record has begun within the member.
    private var isShared = false
    /// Whether ``goBack(member:to:)`` may be asked for.
    private let goesBack: Bool
    /// A state before the record that is read, where the member has several; nil for the member's beginning.
    private var stateBefore: MemberMark?
    /// The state in which the last bytes were decoded.
    private var lastState: MemberMark?
    private var input: UnsafeMutableRawBufferPointer
    private var inputLow = 0
    private var inputHigh = 0
    /// Where in ``bytes`` the end of what is in ``input`` is.
    private var inputEnd: Int

    /// - Parameters:
    ///   - range: what of the bytes is the WARC file, or the rest of it from the record on that is read.
    ///   - room: how much is decoded or read at once; for an index much, for one record little.
    ///   - marks: takes states of members that have several records.
    ///   - goesBack: whether records are read that may turn out to be other ones.
    /// - Throws: ``ArchiveProblem`` where the file can't be read, or zlib is missing.
    init(
        _ bytes: ArchiveBytes, _ range: Range<Int>, isCompressed: Bool, room: Int, marks: MemberMarks? = nil,
        goesBack: Bool = false
    ) throws(ArchiveProblem) {
        inflater = isCompressed ? try Inflater(.gzip) : nil
        self.marks = marks
        self.goesBack = goesBack
        self.bytes = bytes
        self.range = range
        self.isCompressed = isCompressed
        buffer = .allocate(byteCount: room, alignment: 16)
        input = .allocate(byteCount: isCompressed ? max(room / 2, 4096) : 0, alignment: 16)
        member = range.lowerBound
        lastPiece = (member, 0)
        piece = lastPiece
        position = isCompressed ? 0 : range.lowerBound
        gapEnd = position
        inputEnd = range.lowerBound
    }

    /// Goes on in a member from a state of it.
    init(
        _ bytes: ArchiveBytes, _ range: Range<Int>, from mark: MemberMark, room: Int
    ) throws(ArchiveProblem) {
        inflater = try Inflater(copying: mark.inflater)
        marks = nil
        goesBack = false
        self.bytes = bytes
        self.range = range
        isCompressed = true
        buffer = .allocate(byteCount: max(room, mark.window.count), alignment: 16)
        input = .allocate(byteCount: max(room / 2, 4096), alignment: 16)
        member = mark.member
        lastPiece = (member, 0)
        piece = lastPiece
        position = mark.position
        gapEnd = position
        inputEnd = mark.filePosition
        mark.window.withUnsafeBytes { buffer.copyMemory(from: $0) }
        high = mark.window.count
    }

    deinit {
        buffer.deallocate()
        input.deallocate()
    }

    /// What is read and not passed over; valid until anything else is asked.
    var window: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[low..<high]) }

    /// Where in the file an error of the place where the window begins is told.
    var place: Int { isCompressed ? member : position }

    /// Where in ``bytes`` the compressed bytes go on that have not been decoded.
    var filePosition: Int { isCompressed ? inputEnd - (inputHigh - inputLow) : position }

    /// Reads until the window has `count` bytes.
    ///
    /// - Returns: whether it has; false where file or member end before.
    func fill(_ count: Int) throws(ArchiveProblem) -> Bool {
        if high - low >= count { return true }
        makeRoom(count)
        while high - low < count {
            guard try isCompressed ? inflate() : readOn() else { return false }
        }
        return true
    }

    /// Passes over bytes.
    ///
    /// - Returns: false where file or member end before, or member can't be decoded so far.
    func skip(_ count: Int) throws(ArchiveProblem) -> Bool {
        var rest = count
        let start = position
        while true {
            let part = min(rest, high - low)
            low += part
            position += part
            rest -= part
            if rest == 0 { return true }
            low = 0
            high = 0
            if !isCompressed {
                guard rest <= range.upperBound - position else { return false }
                noteGap(of: rest, behind: start - gapEnd)
                position += rest
                gapEnd = position
                return true
            }
            guard try inflate() else { return false }
        }
    }

    /// Chooses how much is read behind a gap. Where that is worth it little is: the heads of the next records, since a
    /// system call costs about as much as copying 8 KiB. What goes on with hardly any gaps is read in ever larger
    /// parts.
    ///
    /// - Parameter needed: the bytes that were used since the gap before.
    private func noteGap(of gap: Int, behind needed: Int) {
        guard gap >= needed / 8 else { return }
        // More than nearly all need, so that a longer head seldom takes another reading: one that is short of it counts
        // as much as eight that are not.
        headStretch += needed + 256 > headStretch ? 512 : -64
        headStretch = min(max(headStretch, 1024), RecordSource.leastStretch)
        stretch = headStretch
    }

    /// Goes to another place of a plain file.
    func seek(_ offset: Int) {
        low = 0
        high = 0
        stretch = headStretch
        position = offset
        gapEnd = offset
    }

    /// Makes room for a window of that many bytes, and some more.
    private func makeRoom(_ count: Int) {
        let used = high - low
        if count > buffer.count {
            let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: count + 65_536, alignment: 16)
            larger.copyMemory(from: window)
            buffer.deallocate()
            buffer = larger
        } else if low > 0, buffer.count - low < max(count, buffer.count / 2) {
            move(buffer, low..<high)
        } else {
            return
        }
        low = 0
        high = used
    }

    private func move(_ buffer: UnsafeMutableRawBufferPointer, _ range: Range<Int>) {
        guard let start = buffer.baseAddress else { return }
        memmove(start, start + range.lowerBound, range.count)
    }

    private func readOn() throws(ArchiveProblem) -> Bool {
        let from = position + (high - low)
        let room = min(buffer.count - high, stretch, range.upperBound - from)
        guard room > 0 else { return false }
        let read = try bytes.read(at: from, into: .init(rebasing: buffer[high..<high + room]))
        guard read > 0 else { throw .cutShort(at: from) }
        high += read
        stretch = min(2 * stretch, RecordSource.mostStretch)
        return true
    }
}

// MARK: gzip

extension RecordSource {
    /// Decodes some more of the member.
    private func inflate() throws(ArchiveProblem) -> Bool {
        guard let inflater, damage == nil else { return false }
        if isMemberOver { guard try joinNext() else { return false } }
        var end = buffer.count
        if isShared, marks != nil || goesBack {
            try keepMark()
            if goesBack { lastState = try state() }
            end = min(end, high + MemberMarks.leastSpacing)
        }
        while true {
            let hasInput = try refill()
            let step = inflater.decode(
                UnsafeRawBufferPointer(rebasing: input[inputLow..<inputHigh]),
                into: .init(rebasing: buffer[high..<end]))
            inputLow += step.consumed
            high += step.produced
            switch step.state {
            case .complete: isMemberOver = true
            case .failed(let reason): damage = reason
            case .open where step.produced == 0 && !hasInput: damage = "it is cut short"
            case .open: break
            }
            if step.produced > 0 { return true }
            guard damage == nil else { return false }
            if isMemberOver { guard try joinNext() else { return false } }
        }
    }

    /// Takes the next member for the rest of the one that is over.
    ///
    /// - Returns: false where a record begins there, or no member does.
    private func joinNext() throws(ArchiveProblem) -> Bool {
        guard isInRecord, let inflater, try hold(1024) > 2, input[inputLow...].starts(with: [0x1F, 0x8B]) else {
            return false
        }
        inflater.reset(.gzip)
        var start: [UInt8] = Array(repeating: 0, count: 5)
        let step = start.withUnsafeMutableBytes {
            inflater.decode(UnsafeRawBufferPointer(rebasing: input[inputLow..<inputHigh]), into: $0)
        }
        if case .failed = step.state { return false }
        guard step.produced == start.count || step.state == .complete, !start.elementsEqual("WARC/".utf8) else {
            return false
        }
        inflater.reset(.gzip)
        lastPiece = (filePosition, position + high - low)
        isMemberOver = false
        return true
    }

    /// Goes back to a place behind the beginning of the record, and takes its member and those behind it for
    /// themselves.
    ///
    /// - Returns: whether it is there now.
    func separate(from place: Int) throws(ArchiveProblem) -> Bool {
        guard place >= piece.position else { return false }
        let distance = place - piece.position
        inputEnd = piece.member
        inputLow = 0
        inputHigh = 0
        isAtEnd = false
        begin()
        return try skip(distance)
    }

    /// - Returns: whether there is compressed input.
    private func refill() throws(ArchiveProblem) -> Bool {
        guard inputLow == inputHigh else { return true }
        inputLow = 0
        inputHigh = try bytes.read(
            at: inputEnd, into: .init(rebasing: input[..<min(input.count, range.upperBound - inputEnd)]))
        inputEnd += inputHigh
        return inputHigh > 0
    }

    /// Whether all of the member was passed over; where it is not known yet, decodes on.
    func isAtMemberEnd() throws(ArchiveProblem) -> Bool {
        if try fill(1) { return false }
        return isMemberOver && damage == nil
    }

    /// Begins the member that follows the one that is over.
    ///
    /// - Returns: false at the end of the file. Where what follows is not gzip, there is damage.
    func nextMember() throws(ArchiveProblem) -> Bool {
        let rest = try hold(2)
        begin()
        guard rest >= 2 else {
            isAtEnd = true
            return false
        }
        if !input[inputLow...].starts(with: [0x1F, 0x8B]) { damage = "no gzip follows" }
        return true
    }

    private func begin() {
        member = filePosition
        position = 0
        low = 0
        high = 0
        damage = nil
        isMemberOver = false
        isShared = false
        lastPiece = (member, 0)
        stateBefore = nil
        lastState = nil
        inflater?.reset(.gzip)
    }

    // MARK: States

    /// Tells that a record begins here, within the member: one that is read later should not need what is before it.
    func noteShared() throws(ArchiveProblem) {
        if !isShared {
            isShared = true
            try keepMark()
            if goesBack { stateBefore = try mark() }
        } else if let lastState, lastState.position <= position {
            stateBefore = lastState
        }
    }

    private func keepMark() throws(ArchiveProblem) {
        guard let marks, marks.wants(member, position), let mark = try mark() else { return }
        marks.keep(mark)
    }

    /// The state as it is; nil where there is nothing to go on with.
    func mark() throws(ArchiveProblem) -> MemberMark? {
        guard let inflater, !isMemberOver, damage == nil else { return nil }
        return MemberMark(
            member: member, position: position, window: Array(window), filePosition: filePosition,
            inflater: try Inflater(copying: inflater))
    }

    /// The state behind all that was decoded.
    private func state() throws(ArchiveProblem) -> MemberMark? {
        guard let inflater else { return nil }
        return MemberMark(
            member: member, position: position + high - low, window: [], filePosition: filePosition,
            inflater: try Inflater(copying: inflater))
    }

    /// How much is decoded again to go back to a place in a member.
    func distance(member: Int, to place: Int) -> Int {
        guard let state = stateBefore, state.member == member, state.window.count <= buffer.count else { return place }
        return max(0, place - state.position)
    }

    /// Goes back to a place behind the beginning of the record that was begun last, in its member.
    ///
    /// - Returns: whether that could be reached.
    func goBack(member: Int, to place: Int) throws(ArchiveProblem) -> Bool {
        inputLow = 0
        inputHigh = 0
        isAtEnd = false
        if let state = stateBefore, state.member == member, state.window.count <= buffer.count {
            inflater = try Inflater(copying: state.inflater)
            self.member = member
            position = state.position
            inputEnd = state.filePosition
            state.window.withUnsafeBytes { buffer.copyMemory(from: $0) }
            low = 0
            high = state.window.count
            damage = nil
            isMemberOver = false
        } else {
            inputEnd = member
            begin()
        }
        return try skip(max(0, place - position))
    }

    /// Goes to the next place where a member begins that begins with `WARC/`, or a block of `bgzip`.
    ///
    /// - Parameter again: whether what was read of the damaged member is looked through too: one that was cut may have
    ///   swallowed the beginning of the next.
    /// - Returns: false where there is none.
    func findMember(again: Bool) throws(ArchiveProblem) -> Bool {
        // That a member seems to begin where decoding stopped says nothing: what was decoded of another one ends with
        // it.
        if again, filePosition > member { readAgain(from: member + 1) }
        while true {
            guard try refill() else { break }
            guard let start = input[inputLow..<inputHigh].firstIndex(of: 0x1F) else {
                inputLow = inputHigh
                continue
            }
            inputLow = start
            guard try hold(1024) >= 18 else { break }
            begin()
            isInBlocks = looksLikeBlock()
            if isInBlocks || looksLikeRecord() {
                inflater?.reset(.gzip)
                return true
            }
            inputLow += 1
        }
        isAtEnd = true
        return false
    }

    /// Has the input go on at a place before the one where it is.
    private func readAgain(from place: Int) {
        let start = inputEnd - inputHigh
        if place >= start {
            inputLow = place - start
        } else {
            inputEnd = place
            inputLow = 0
            inputHigh = 0
        }
    }

    /// Moves what is left of the input to its front, and reads on.
    private func hold(_ count: Int) throws(ArchiveProblem) -> Int {
        guard inputHigh - inputLow < count, inputEnd < range.upperBound else { return inputHigh - inputLow }
        move(input, inputLow..<inputHigh)
        inputHigh -= inputLow
        inputLow = 0
        let room = min(input.count - inputHigh, range.upperBound - inputEnd)
        let read = try bytes.read(at: inputEnd, into: .init(rebasing: input[inputHigh..<inputHigh + room]))
        inputHigh += read
        inputEnd += read
        return inputHigh
    }

    /// Whether the input is a block of `bgzip`: a gzip member that tells its own length in an extra field (the SAM
    /// format, section 4.1).
    private func looksLikeBlock() -> Bool {
        let head = input[inputLow..<inputHigh]
        return head.starts(with: [0x1F, 0x8B, 8, 4])
            && head.dropFirst(10).starts(with: [6, 0, UInt8(ascii: "B"), UInt8(ascii: "C"), 2, 0])
    }

    /// Whether the input is gzip, with a short header, whose first bytes are a record's: some hundred bytes tell it, so
    /// that any number of places can be looked at.
    private func looksLikeRecord() -> Bool {
        let head = input[inputLow..<min(inputHigh, inputLow + 1024)]
        // Three bits of the flags are reserved, and 0 (RFC 1952 §2.3.1.2).
        guard let inflater, head.starts(with: [0x1F, 0x8B, 8]), let flags = head.dropFirst(3).first, flags < 0x20
        else { return false }
        inflater.reset(.gzip)
        let step = inflater.decode(
            UnsafeRawBufferPointer(rebasing: head), into: .init(rebasing: buffer[..<min(8, buffer.count)]))
        return step.produced >= 5 && buffer[..<5].elementsEqual("WARC/".utf8)
    }
}
