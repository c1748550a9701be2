import HTTPSemantics
import NIOCore
import Substitution

/// The targets of requests that were asked for last, by their bytes.
///
/// What a target was found to name, its URL, rule and answer, is found again by comparing bytes. Only what depends on
/// nothing else of the request belongs here. Bound to its event loop, and to the table of the answers.
struct KnownTargets {
    /// A target that was asked for, and where the answer stands that a GET of it gets.
    final class Target {
        fileprivate let hash: UInt64
        fileprivate let bytes: [UInt8]
        /// The URL in normal form.
        let url: ByteBuffer
        /// The answer's place in the table, and its number: another answer in the place has another one. The target
        /// does not hold the answer, whose bodies may have to be given up.
        let place: Int
        let number: UInt64
        /// What the log's lines of the answer have in common, and those of the 304 in its place; made with the first.
        var line: LineParts?
        var notModifiedLine: LineParts?

        fileprivate init(_ hash: UInt64, _ bytes: UnsafeRawBufferPointer, url: ByteBuffer, place: Int, number: UInt64) {
            self.hash = hash
            self.bytes = Array(bytes)
            // Not the storage of the head that the URL was read from.
            self.url = url.withUnsafeReadableBytes { ByteBuffer(bytes: $0) }
            self.place = place
            self.number = number
        }
    }

    /// Targets kept at first and at the most, how long one may be, and what one takes at the most, in bytes. Each has
    /// one place, and takes it from the one before; where that happens as often as there are places, they are doubled.
    private static let capacity = 256
    private static let largestCapacity = 65_536
    private static let longest = 512
    private static let cost = 2560

    private let largest: Int

    /// - Parameter limit: bytes of memory for targets; a few are kept whatever it is.
    init(limit: Int) { largest = min(KnownTargets.largestCapacity, limit / KnownTargets.cost) }

    private var places = ContiguousArray<Target?>(repeating: nil, count: KnownTargets.capacity)
    /// The hash of the target that was last seen at each place: one is kept when it is seen again.
    private var seen = ContiguousArray<UInt64>(repeating: 0, count: KnownTargets.capacity)
    private var displaced = 0

    @inline(__always)
    func find(_ target: UnsafeRawBufferPointer) -> Target? {
        guard target.count <= KnownTargets.longest else { return nil }
        let hash = URLHash.of(target)
        guard let known = places[place(hash)], known.hash == hash else { return nil }
        return known.bytes.withUnsafeBytes { $0.equals(target) } ? known : nil
    }

    /// Keeps what a target was found to name, when it comes for the second time.
    mutating func note(_ target: UnsafeRawBufferPointer, url: ByteBuffer, place answer: Int, number: UInt64) {
        guard target.count <= KnownTargets.longest else { return }
        let hash = URLHash.of(target)
        let place = place(hash)
        guard seen[place] == hash else {
            if seen[place] != 0 { displaced &+= 1 }
            seen[place] = hash
            if displaced >= places.count, places.count &* 2 <= largest { grow() }
            return
        }
        places[place] = Target(hash, target, url: url, place: answer, number: number)
    }

    private mutating func grow() {
        let (oldPlaces, oldSeen) = (places, seen)
        displaced = 0
        places = ContiguousArray(repeating: nil, count: oldPlaces.count &* 2)
        seen = ContiguousArray(repeating: 0, count: oldPlaces.count &* 2)
        for hash in oldSeen where hash != 0 { seen[place(hash)] = hash }
        for case let known? in oldPlaces { places[place(known.hash)] = known }
    }

    @inline(__always)
    private func place(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (places.count &- 1) }
}
