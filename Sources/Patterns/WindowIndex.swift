/// Short texts, windows, each with the expressions to be tried on an input that contains it.
///
/// A window has up to eight bytes, folded by `foldingCase`, in one word. An input is looked through once: at each byte
/// the word of the latest eight is looked up, and those of fewer bytes if there are such windows.
struct WindowIndex: Sendable {
    /// The most bytes of a window.
    static let maximumSize = 8
    /// Marks the last expression of a window.
    private static let last = UInt32(1) << 31

    /// A hash table of the windows. 0 marks a free slot; no window is 0, since no folded byte is.
    private var keys: [UInt64] = [0]
    /// Where each window's expressions begin.
    private var starts: [UInt32] = [0]
    private var numbers: [UInt32] = []
    private var shift: UInt64 = 63
    /// The bytes of a word that make a window, for each size that there is.
    private var masks: [UInt64] = []

    /// An index without windows.
    init() {}

    /// - Parameter entries: A window and the number of an expression each, windows of the same bytes together.
    init(_ entries: [(window: UInt64, number: UInt32)]) {
        let bits = max(1, UInt64.bitWidth - (2 * entries.count).leadingZeroBitCount)
        keys = Array(repeating: 0, count: 1 << bits)
        starts = Array(repeating: 0, count: 1 << bits)
        shift = UInt64(64 - bits)
        numbers.reserveCapacity(entries.count)
        var sizes: Set<Int> = []
        var latest: UInt64 = 0
        for entry in entries {
            if entry.window == latest {
                numbers[numbers.count - 1] &= ~Self.last
            } else {
                latest = entry.window
                sizes.insert(Self.size(of: latest))
                var slot = Int(Self.hash(latest) &>> shift)
                while keys[slot] != 0 { slot = (slot + 1) & (keys.count - 1) }
                keys[slot] = latest
                starts[slot] = UInt32(truncatingIfNeeded: numbers.count)
            }
            numbers.append(entry.number | Self.last)
        }
        masks = sizes.sorted().map { UInt64.max >> UInt64(64 - 8 * $0) }
    }

    /// The bytes of a window.
    static func size(of window: UInt64) -> Int { (71 - window.leadingZeroBitCount) / 8 }

    static func hash(_ window: UInt64) -> UInt64 {
        (window ^ window &>> 29) &* 0x9E37_79B9_7F4A_7C15
    }

    /// Adds the expressions of the windows that are in an input.
    func collect(_ input: Span<UInt8>, into candidates: inout CandidateSet) {
        guard !masks.isEmpty else { return }
        let keys = keys.span
        let masks = masks.span
        let wrap = keys.count &- 1
        var latest: UInt64 = 0
        for position in input.indices {
            latest = latest &<< 8 | UInt64(input[position].foldingCase)
            for size in masks.indices {
                let window = latest & masks[size]
                var slot = Int(truncatingIfNeeded: Self.hash(window) &>> shift)
                while keys[slot] != 0 {
                    if keys[slot] == window {
                        add(from: Int(starts[slot]), to: &candidates)
                        break
                    }
                    slot = (slot &+ 1) & wrap
                }
            }
        }
    }

    private func add(from start: Int, to candidates: inout CandidateSet) {
        var place = start
        while true {
            let number = numbers[place]
            candidates.insert(number & ~Self.last)
            if number & Self.last != 0 { return }
            place &+= 1
        }
    }

    var byteCount: Int { keys.count * 12 + numbers.count * 4 }
}
