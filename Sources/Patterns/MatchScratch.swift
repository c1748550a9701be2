/// Memory that matches work in. Keep one for each event loop and hand it to one match after another.
///
/// It grows to what the largest match needed, a few KiB with URLs and expressions of common sizes and 40 MiB with the
/// largest, and a match for which it is large enough does not allocate. What an ``ExpressionSet`` needs of it is 10 MiB
/// at most, in arrays that may have grown to twice that.
public struct MatchScratch: Sendable {
    /// What to go back to when a way fails.
    struct Job: Sendable {
        /// The instruction to go on at or, if `restores`, the slot to set back.
        var target: UInt16
        var restores: Bool
        /// The position to go on at, or the slot's former value.
        var value: Int
    }

    /// Which instructions were entered at which positions: bit position × visit count + visit number.
    var visited: [UInt64] = []
    var jobs: [Job] = []
    var current = ThreadList()
    var following = ThreadList()
    var working: [Int] = []
    var stars: [StarState] = []
    /// The expressions of a set that may match.
    var candidates = CandidateSet()
    /// The states of the set's automaton.
    var automaton = LazyAutomaton()

    /// The work that the latest match took: instructions run, bytes compared, or positions tried.
    var steps = 0

    /// Scratch memory without any storage yet.
    public init() {}
}
