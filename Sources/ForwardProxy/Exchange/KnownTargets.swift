import HTTPSemantics
import NIOCore
import Substitution

/// The plain answers that were asked for last, by the bytes of the request's target.
///
/// What a target was found to name, its URL, rule and answer, is found again by comparing bytes. Only what depends on
/// nothing else of the request belongs here. Bound to its event loop, and to the map of the answers.
struct KnownTargets {
    /// A target that was asked for, and what a GET of it is answered with.
    final class Target {
        fileprivate let hash: UInt64
        fileprivate let bytes: [UInt8]
        /// The URL in normal form.
        let url: ByteBuffer
        let answer: ReadyAnswer
        /// What the log's lines of the answer have in common, and those of the 304 in its place; made with the first.
        var line: LineParts?
        var notModifiedLine: LineParts?

        fileprivate init(_ hash: UInt64, _ bytes: UnsafeRawBufferPointer, url: ByteBuffer, answer: ReadyAnswer) {
            self.hash = hash
            self.bytes = Array(bytes)
            // Not the storage of the head that the URL was read from.
            self.url = url.withUnsafeReadableBytes { ByteBuffer(bytes: $0) }
            self.answer = answer
        }
    }

    /// Targets kept at the most, and how long one may be. Each has one place, and takes it from the one before.
    private static let capacity = 256
    private static let longest = 512

    private var places = ContiguousArray<Target?>(repeating: nil, count: KnownTargets.capacity)
    /// The hash of the target that was last seen at each place: one is kept when it is seen again.
    private var seen = ContiguousArray<UInt64>(repeating: 0, count: KnownTargets.capacity)

    @inline(__always)
    func find(_ target: UnsafeRawBufferPointer) -> Target? {
        guard target.count <= KnownTargets.longest else { return nil }
        let hash = URLHash.of(target)
        guard let known = places[KnownTargets.place(hash)], known.hash == hash else { return nil }
        return known.bytes.withUnsafeBytes { $0.equals(target) } ? known : nil
    }

    /// Keeps what a target was found to name, when it comes for the second time.
    mutating func note(_ target: UnsafeRawBufferPointer, url: ByteBuffer, answer: ReadyAnswer) {
        guard target.count <= KnownTargets.longest else { return }
        let hash = URLHash.of(target)
        let place = KnownTargets.place(hash)
        if seen[place] == hash {
            places[place] = Target(hash, target, url: url, answer: answer)
        } else {
            seen[place] = hash
        }
    }

    /// Forgets the targets of answers that are no longer the ones to give.
    mutating func forget(where isGone: (ReadyAnswer) -> Bool) {
        for place in places.indices {
            if let known = places[place], isGone(known.answer) { places[place] = nil }
        }
    }

    @inline(__always)
    private static func place(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (capacity &- 1) }
}
