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

        fileprivate init(_ bytes: UnsafeRawBufferPointer, url: ByteBuffer, place: Int, number: UInt64) {
            self.bytes = Array(bytes)
            // Not the storage of the head that the URL was read from.
            self.url = url.withUnsafeReadableBytes { ByteBuffer(bytes: $0) }
            self.place = place
            self.number = number
        }

        /// About the bytes of memory that it takes, its lines included.
        fileprivate var cost: Int { KnownTargets.cost &+ bytes.count &* 3 &+ url.readableBytes &* 2 }
    }

    /// Four of them are 64 bytes: one or two lines of the processor's cache.
    private struct Place {
        var hash: UInt64 = 0
        var target: Target?
    }

    /// Places at first and at the most, how many of them stand for one hash, and how long a target may be in bytes.
    /// Where a quarter as many targets were not found as there are places, these are doubled.
    private static let capacity = 256
    private static let largestCapacity = 65_536
    private static let ways = 4
    private static let longest = 512
    /// What the shortest target takes, in bytes.
    private static let cost = 768

    /// Bytes of memory for targets; beyond it others go for one that comes.
    private let limit: Int
    /// Places at the most: about as many as there may be targets, so that they take a small part of that memory.
    private let largest: Int
    private(set) var bytes = 0
    private(set) var count = 0

    /// How many places there are.
    var capacity: Int { places.count }

    private var places = ContiguousArray<Place>(repeating: Place(), count: KnownTargets.capacity)
    /// The hash of the target that was last seen for each four places: one is kept when it is seen again.
    private var seen = ContiguousArray<UInt64>(
        repeating: 0, count: KnownTargets.capacity / KnownTargets.ways)
    /// Targets that came since the places were doubled, and were not those that had come before them.
    private var missed = 0
    /// Where memory is taken back next.
    private var hand = 0

    init(limit: Int) {
        self.limit = limit
        largest = min(KnownTargets.largestCapacity, limit / KnownTargets.cost)
    }

    @inline(__always)
    func find(_ target: UnsafeRawBufferPointer) -> Target? {
        guard target.count <= KnownTargets.longest else { return nil }
        let hash = URLHash.of(target)
        let first = first(hash)
        for place in first..<(first &+ KnownTargets.ways) where places[place].hash == hash {
            if let known = places[place].target, known.bytes.withUnsafeBytes({ $0.equals(target) }) { return known }
        }
        return nil
    }

    /// Keeps what a target was found to name, when it comes for the second time.
    mutating func note(_ target: UnsafeRawBufferPointer, url: ByteBuffer, place answer: Int, number: UInt64) {
        guard target.count <= KnownTargets.longest else { return }
        let hash = URLHash.of(target)
        let group = first(hash) / KnownTargets.ways
        guard seen[group] == hash else {
            if seen[group] != 0 { missed &+= 1 }
            seen[group] = hash
            if missed >= places.count / 4, places.count &* 2 <= largest { grow() }
            return
        }
        let made = Target(target, url: url, place: answer, number: number)
        guard made.cost <= limit else { return }
        let place = place(for: hash)
        remove(at: place)
        while bytes &+ made.cost > limit { removeNext() }
        places[place] = Place(hash: hash, target: made)
        bytes &+= made.cost
        count &+= 1
    }

    /// The place for a hash: where it stands already, else a free one, else that of another.
    private func place(for hash: UInt64) -> Int {
        let first = first(hash)
        let group = first..<(first &+ KnownTargets.ways)
        return group.first { places[$0].target != nil && places[$0].hash == hash }
            ?? group.first { places[$0].target == nil }
            ?? first &+ (Int(truncatingIfNeeded: hash &>> 60) & (KnownTargets.ways &- 1))
    }

    private mutating func remove(at place: Int) {
        guard let target = places[place].target else { return }
        bytes &-= target.cost
        count &-= 1
        places[place] = Place()
    }

    /// Removes the next target that is there.
    private mutating func removeNext() {
        while places[hand].target == nil { hand = (hand &+ 1) & (places.count &- 1) }
        remove(at: hand)
    }

    private mutating func grow() {
        let (oldPlaces, oldSeen) = (places, seen)
        missed = 0
        hand = 0
        places = ContiguousArray(repeating: Place(), count: oldPlaces.count &* 2)
        seen = ContiguousArray(repeating: 0, count: oldSeen.count &* 2)
        for hash in oldSeen where hash != 0 { seen[first(hash) / KnownTargets.ways] = hash }
        // What stood in four places stands in eight now, so each finds one.
        for known in oldPlaces where known.target != nil { places[place(for: known.hash)] = known }
    }

    /// The first of the places that stand for a hash.
    @inline(__always)
    private func first(_ hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash) & (places.count &- 1) & ~(KnownTargets.ways &- 1)
    }
}
