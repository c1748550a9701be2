/// Finds the folder rules and patterns that can match a URL, those with the longest literal prefix first.
///
/// A folder stands at its own text, and a pattern at its literal prefix up to the last `/`. The prefixes of a URL that
/// end in `/` are looked up while the URL is hashed once, so the cost depends on the URL's segments and not on the
/// number of rules. Of two such places the deeper one has the longer literal prefixes throughout: a pattern's prefix
/// goes beyond its place by less than a segment and its `/`. Where the first star is in a pattern's query, the prefix
/// is longer, but such a pattern is for one path alone, and no place below that path is deeper than its own.
struct PrefixIndex: Sendable {
    /// A text that ends in `/`, and its candidates.
    struct Place: Sendable {
        var keyOffset: UInt32
        var keyLength: UInt32
        var first: UInt32 = 0
        var count: UInt32 = 0
        /// The first rule of the folder of just this text, if there is one.
        var folder = RuleRecord.none
    }

    /// A folder rule or a pattern at a place.
    struct Candidate: Sendable {
        static let noPattern = UInt32.max

        var place: UInt32
        /// The first rule of the key.
        var record: UInt32
        /// The number of the pattern, or `noPattern` for a folder.
        var pattern: UInt32
        /// The length of the literal prefix, without a query.
        var prefixLength: UInt32
        /// What decides over the order: the length of the literal prefix, with its query where that has the first star.
        var rank: UInt32
    }

    private var table = IndexTable()
    private(set) var places: ContiguousArray<Place> = []
    /// Each place's candidates together, the highest rank first, once ``finish()`` was called.
    private(set) var candidates: ContiguousArray<Candidate> = []
    /// One bit for each length that a place has, so that other prefixes need no look-up.
    private var lengths: [UInt64] = []

    var isEmpty: Bool { places.isEmpty }

    /// The bytes that the index occupies.
    var byteCount: Int {
        table.byteCount + places.count * MemoryLayout<Place>.stride
            + candidates.count * MemoryLayout<Candidate>.stride + lengths.count * 8
    }

    /// Adds a folder or a pattern. Its literal prefix is at `key` of the arena, without a query.
    ///
    /// - Parameter rank: the length of the literal prefix, with its query where that has the first star.
    /// - Returns: The folder rule of the same text that was added before, if this is one too.
    @discardableResult
    mutating func insert(
        record: UInt32, key: Range<Int>, rank: Int, pattern: UInt32, arena: UnsafeRawBufferPointer
    ) -> UInt32? {
        let literal = UnsafeRawBufferPointer(rebasing: arena[key])
        let length = (literal.lastIndex(of: UInt8(ascii: "/")) ?? -1) &+ 1
        let text = UnsafeRawBufferPointer(rebasing: literal[0..<length])
        let place = place(text, arena) ?? addPlace(key.lowerBound..<key.lowerBound &+ length, arena)
        candidates.append(
            Candidate(
                place: place, record: record, pattern: pattern,
                prefixLength: UInt32(truncatingIfNeeded: literal.count), rank: UInt32(truncatingIfNeeded: rank)))
        places[Int(place)].count &+= 1
        guard pattern == Candidate.noPattern else { return nil }
        let earlier = places[Int(place)].folder
        if earlier == RuleRecord.none { places[Int(place)].folder = record }
        return earlier == RuleRecord.none ? nil : earlier
    }

    private func place(_ text: UnsafeRawBufferPointer, _ arena: UnsafeRawBufferPointer) -> UInt32? {
        table.first(URLHash.of(text)) { URLText.equal(PrefixIndex.text(places[Int($0)], arena), text) }
    }

    private mutating func addPlace(_ key: Range<Int>, _ arena: UnsafeRawBufferPointer) -> UInt32 {
        let number = UInt32(truncatingIfNeeded: places.count)
        places.append(
            Place(
                keyOffset: UInt32(truncatingIfNeeded: key.lowerBound),
                keyLength: UInt32(truncatingIfNeeded: key.count)))
        let places = places
        table.insert(number, hash: URLHash.of(UnsafeRawBufferPointer(rebasing: arena[key]))) {
            URLHash.of(PrefixIndex.text(places[Int($0)], arena))
        }
        let word = key.count / 64
        if word >= lengths.count { lengths += [UInt64](repeating: 0, count: word + 1 - lengths.count) }
        lengths[word] |= 1 << UInt64(key.count % 64)
        return number
    }

    private static func text(_ place: Place, _ arena: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let start = Int(place.keyOffset)
        return UnsafeRawBufferPointer(rebasing: arena[start..<start &+ Int(place.keyLength)])
    }

    /// Brings each place's candidates together and in order; call it when all are added.
    mutating func finish() {
        var next: UInt32 = 0
        for index in places.indices {
            places[index].first = next
            next += places[index].count
        }
        var positions = places.map(\.first)
        var sorted = candidates
        for candidate in candidates {
            sorted[Int(positions[Int(candidate.place)])] = candidate
            positions[Int(candidate.place)] += 1
        }
        for place in places where place.count > 1 {
            let range = Int(place.first)..<Int(place.first + place.count)
            // Records were made in the order of the files, so their numbers break ties.
            sorted[range].sort {
                $0.rank != $1.rank ? $0.rank > $1.rank : $0.record < $1.record
            }
        }
        candidates = sorted
    }

    /// Appends the places that are prefixes of `path`, the shortest first.
    @inline(__always)
    func collect(
        _ path: UnsafeRawBufferPointer, arena: UnsafeRawBufferPointer, into found: inout ContiguousArray<UInt32>
    ) {
        var hash = URLHash()
        var index = 0
        while path.count &- index >= 8 {
            let word = URLHash.word(path, index)
            let before = hash
            hash.absorb(word)
            var slashes = PrefixIndex.slashes(word)
            while slashes != 0 {
                let bits = UInt64(truncatingIfNeeded: slashes.trailingZeroBitCount &+ 1)
                let length = index &+ Int(truncatingIfNeeded: bits &>> 3)
                if hasPlace(ofLength: length) {
                    let value =
                        bits == 64
                        ? hash.finished(tail: 0, length: length)
                        : before.finished(tail: word & ((1 &<< bits) &- 1), length: length)
                    look(value, path, length, arena, &found)
                }
                slashes &= slashes &- 1
            }
            index &+= 8
        }
        let tail = URLHash.tail(path, from: index)
        var slashes = PrefixIndex.slashes(tail)
        while slashes != 0 {
            let bits = UInt64(truncatingIfNeeded: slashes.trailingZeroBitCount &+ 1)
            let length = index &+ Int(truncatingIfNeeded: bits &>> 3)
            if hasPlace(ofLength: length) {
                look(hash.finished(tail: tail & ((1 &<< bits) &- 1), length: length), path, length, arena, &found)
            }
            slashes &= slashes &- 1
        }
    }

    @inline(__always)
    private func hasPlace(ofLength length: Int) -> Bool {
        let word = length &>> 6
        return word < lengths.count && lengths[word] &>> UInt64(truncatingIfNeeded: length & 63) & 1 != 0
    }

    private func look(
        _ hash: UInt64, _ path: UnsafeRawBufferPointer, _ length: Int, _ arena: UnsafeRawBufferPointer,
        _ found: inout ContiguousArray<UInt32>
    ) {
        let prefix = UnsafeRawBufferPointer(rebasing: path[0..<length])
        if let place = place(hash, prefix, arena) { found.append(place) }
    }

    private func place(
        _ hash: UInt64, _ text: UnsafeRawBufferPointer, _ arena: UnsafeRawBufferPointer
    ) -> UInt32? {
        table.first(hash) { URLText.equal(PrefixIndex.text(places[Int($0)], arena), text) }
    }

    /// The top bit of each byte of `word` that is `/`, exactly.
    @inline(__always)
    private static func slashes(_ word: UInt64) -> UInt64 {
        let low: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
        let difference = word ^ 0x2F2F_2F2F_2F2F_2F2F
        return ~(((difference & low) &+ low) | difference | low)
    }
}
