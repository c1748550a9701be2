/// Random choices whose sequence a seed decides (SplitMix64).
struct ModelRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// Below `bound`.
    mutating func below(_ bound: Int) -> Int { Int(next() >> 33) % bound }

    /// True in `percent` of a hundred cases.
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    /// One of the elements, each as often as its number says.
    mutating func pick<Element>(weighted elements: [(Int, Element)]) -> Element {
        var rest = below(elements.reduce(0) { $0 + $1.0 })
        for (weight, element) in elements {
            if rest < weight { return element }
            rest -= weight
        }
        return elements[0].1
    }
}
