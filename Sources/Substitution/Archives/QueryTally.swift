/// How often a query has each parameter: long queries are paired by it in time in proportion to their length, whatever
/// they have, since its hashes have a seed of the process.
final class QueryTally {
    private struct Key: Hashable {
        let bytes: UnsafeRawBufferPointer

        init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        static func == (left: Key, right: Key) -> Bool { URLText.equal(left.bytes, right.bytes) }

        func hash(into hasher: inout Hasher) { hasher.combine(bytes: bytes) }
    }

    /// One of the different parameters.
    private struct Slot {
        let name: UnsafeRawBufferPointer
        var count = 0
        /// How many of them the recorded parameters that are being paired have for themselves.
        var taken = 0
    }

    private var slots: [Slot] = []
    private var places: [Key: Int] = [:]
    private lazy var countsOfNames = slots.reduce(into: [Key: Int]()) { counts, slot in
        counts[Key(slot.name), default: 0] += slot.count
    }

    private lazy var countOfMembers = slots.reduce(0) {
        $0 + (ParameterRules.mayBeMember($1.name) ? $1.count : 0)
    }

    init(_ parameters: [SplitQuery.Parameter]) {
        places.reserveCapacity(parameters.count)
        for parameter in parameters {
            let place = places[Key(parameter.bytes), default: slots.count]
            if place == slots.count {
                places[Key(parameter.bytes)] = place
                slots.append(Slot(name: parameter.name))
            }
            slots[place].count += 1
        }
    }

    /// Whether a parameter is among them, to the byte.
    func has(_ parameter: UnsafeRawBufferPointer) -> Bool { places[Key(parameter)] != nil }

    /// How many of the recorded parameters find one of these for themselves.
    ///
    /// - Parameter isLoose: whether values that only bust caches are let go.
    func pairs(with recorded: [SplitQuery.Parameter], isLoose: Bool) -> Int {
        var pairs = 0
        var touched: [Int] = []
        // Those that equal any value come behind the others, so that none takes another's place.
        var tolerant: [Key: Int] = [:]
        var members = 0
        for parameter in recorded {
            if parameter.isNameRedacted, places[Key(parameter.bytes)] == nil {
                members += 1
            } else if parameter.isTolerant(isLoose: isLoose) {
                tolerant[Key(parameter.name), default: 0] += 1
            } else if let place = places[Key(parameter.bytes)], slots[place].taken < slots[place].count {
                if slots[place].taken == 0 { touched.append(place) }
                slots[place].taken += 1
                pairs += 1
            }
        }
        if !tolerant.isEmpty {
            var left = tolerant.reduce(into: [Key: Int]()) { $0[$1.key] = countsOfNames[$1.key] ?? 0 }
            for place in touched { left[Key(slots[place].name)]? -= slots[place].taken }
            pairs += tolerant.reduce(0) { $0 + min($1.value, left[$1.key] ?? 0) }
        }
        if members > 0 {
            let left = touched.reduce(countOfMembers) {
                $0 - (ParameterRules.mayBeMember(slots[$1].name) ? slots[$1].taken : 0)
            }
            pairs += min(members, left)
        }
        for place in touched { slots[place].taken = 0 }
        return pairs
    }
}
