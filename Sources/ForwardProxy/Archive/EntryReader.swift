import Archives
import Substitution
import Synchronization

/// Reads a recorded body without its codings, from its beginning on. The pool's threads use it one after the other,
/// while an event loop waits.
final class EntryReader: Sendable {
    struct Piece: Sendable {
        /// None where what stands before them has to be passed over further.
        var bytes: [UInt8]
        /// Whether more may follow.
        var isMore: Bool
    }

    private struct State: ~Copyable {
        var stream: (any BodyStream)?
        /// What was read and not given, and where in the body it begins.
        var ahead: [UInt8] = []
        var position = 0
        /// Whether the stream has more.
        var isMore = true

        mutating func drop(_ count: Int) {
            position += count
            if count == ahead.count { ahead.removeAll(keepingCapacity: true) } else { ahead.removeFirst(count) }
        }
    }

    private let archive: MapArchive
    private let number: Int
    private let body: RecordedBody
    private let state = Mutex(State())

    /// How many bytes are passed over at once: other work of the pool comes in between.
    static let passedAtOnce = 1 << 20

    init(_ archive: MapArchive, _ number: Int, _ body: RecordedBody) {
        self.archive = archive
        self.number = number
        self.body = body
    }

    /// Whether getting to a place takes decoding much that is before it. Waits while the body is read.
    func isFar(_ place: Int) -> Bool {
        guard !body.isAnywhere else { return false }
        let position = state.withLock { $0.position }
        return place - (place < position ? 0 : position) > EntryReader.passedAtOnce
    }

    /// The next bytes of a part. One that begins before what was read last takes decoding anew.
    func read(_ range: Range<Int>, upTo count: Int) throws(EntryFailure) -> Piece {
        try reading { (state) throws(ArchiveProblem) -> Piece in
            if state.position > range.lowerBound { state = State(stream: try open()) }
            try passOver(to: range.lowerBound, &state)
            guard state.position == range.lowerBound else {
                return Piece(bytes: [], isMore: state.isMore || !state.ahead.isEmpty)
            }
            let wanted = min(max(count, 1), range.count)
            while state.ahead.isEmpty, state.isMore {
                state.isMore = try state.stream?.read(wanted, into: &state.ahead) ?? false
            }
            // A stream may give twice as much as it is asked for.
            let bytes = Array(state.ahead.prefix(wanted))
            state.drop(bytes.count)
            return Piece(bytes: bytes, isMore: bytes.count < range.count && (state.isMore || !state.ahead.isEmpty))
        }
    }

    /// Reads on for a while, and throws away what it reads.
    ///
    /// - Returns: how much there was, at the end; nil before it.
    func count() throws(EntryFailure) -> CountedBodies.Count? {
        try reading { (state) throws(ArchiveProblem) -> CountedBodies.Count? in
            try passOver(to: .max, &state)
            guard !state.isMore, state.ahead.isEmpty else { return nil }
            return CountedBodies.Count(size: state.position, isRewritten: state.stream?.isRewritten ?? false)
        }
    }

    private func reading<Result: Sendable>(
        _ work: (inout State) throws(ArchiveProblem) -> Result
    ) throws(EntryFailure) -> Result {
        do throws(ArchiveProblem) {
            let result = try state.withLock { (state) throws(ArchiveProblem) -> Result in
                if state.stream == nil { state.stream = try open() }
                return try work(&state)
            }
            guard archive.isIntact else { throw ArchiveProblem(.error, "") }
            return result
        } catch {
            guard archive.isIntact, isSameFile else { throw .changed }
            throw EntryFailure(error)
        }
    }

    private func open() throws(ArchiveProblem) -> any BodyStream {
        let entry = archive.table[number]
        guard body.codings.isEmpty || !entry.isPartial || entry.status != 206 else {
            throw ArchiveProblem(.error, "a part of a coded body can't be decoded")
        }
        let stream = try ContentDecoder.stream(
            try archive.archive.openBody(number), codings: body.codings, storedBytes: body.storedBytes,
            limits: archive.archive.limits)
        guard isSameFile else { throw ArchiveProblem(.error, "") }
        return stream
    }

    /// Whether a body in a file of its own is still the one of which the head tells.
    private var isSameFile: Bool { archive.hasSameFile(body, of: number) }

    /// Goes on towards a place of the body.
    private func passOver(to place: Int, _ state: inout State) throws(ArchiveProblem) {
        var left = EntryReader.passedAtOnce
        while state.position < place, left > 0 {
            if state.ahead.isEmpty {
                guard state.isMore else { return }
                if body.isAnywhere {
                    try state.stream?.skip(place - state.position)
                    state.position = place
                    return
                }
                state.isMore = try state.stream?.read(65_536, into: &state.ahead) ?? false
            }
            let passed = min(state.ahead.count, place - state.position)
            state.drop(passed)
            // What is read may be much where it decodes to little.
            left -= max(passed, 4096)
        }
    }
}

extension MapArchive {
    /// Whether a body in a file of its own is still the one of which an exchange has told.
    func hasSameFile(_ body: RecordedBody, of number: Int) -> Bool {
        body.fileState == nil || (try? archive.exchange(number))?.body.fileState == body.fileState
    }
}

extension RecordedBody {
    /// Whether parts of it can be read without what is before them.
    var isAnywhere: Bool { isSeekable && size != nil && codings.isEmpty && !isRewritten }
}
