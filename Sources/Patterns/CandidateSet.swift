/// Numbers of expressions, for those that may match: a bit for each.
struct CandidateSet: Sendable {
    private var words: [UInt64] = []

    /// Makes it a copy of `other`, in the memory that it has.
    mutating func assign(_ other: CandidateSet) {
        words.removeAll(keepingCapacity: true)
        words.append(contentsOf: other.words)
    }

    /// Makes room for numbers below `count`, and takes all out.
    mutating func reset(count: Int) {
        words.removeAll(keepingCapacity: true)
        words.append(contentsOf: repeatElement(0, count: (count + 63) >> 6))
    }

    mutating func insert(_ number: UInt32) {
        words[Int(number >> 6)] |= 1 &<< UInt64(number & 63)
    }

    /// Inserts 64 numbers at once, from 64 × `index` on, where `bits` has a one.
    mutating func insert(_ bits: UInt64, at index: Int) {
        words[index] |= bits
    }

    /// The least number that is in it and not below `start`.
    func next(from start: Int) -> Int? {
        var index = start >> 6
        guard index < words.count else { return nil }
        var word = words[index] & (UInt64.max &<< UInt64(start & 63))
        while word == 0 {
            index &+= 1
            guard index < words.count else { return nil }
            word = words[index]
        }
        return index &<< 6 &+ word.trailingZeroBitCount
    }

    /// The bytes that it occupies.
    var byteCount: Int { words.count * 8 }
}
