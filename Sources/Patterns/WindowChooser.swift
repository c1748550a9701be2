/// Chooses for each of many expressions the windows by which it is found, so that few others have the same.
///
/// Of the texts that each match has, those are taken of which the fewest expressions have a part: the host where the
/// hosts differ, the file's name where these do.
struct WindowChooser {
    /// Longer texts are found by their beginning.
    private static let maximumLength = 256

    /// The texts of all expressions one after another, folded.
    private var texts: [UInt8] = []
    /// Where texts end; which texts end a set, and which sets an expression.
    private var textEnds: [Int] = []
    private var setEnds: [Int] = []
    private var expressionEnds: [Int] = []

    /// Adds the next expression: sets of texts, each match containing one of every set.
    mutating func add(_ sets: [[[UInt8]]]) {
        for set in sets {
            for text in set {
                texts.append(contentsOf: text.prefix(Self.maximumLength))
                textEnds.append(texts.count)
            }
            setEnds.append(textEnds.count)
        }
        expressionEnds.append(setEnds.count)
    }

    /// How many expressions one window may stand for. A URL has fewer windows of a size, the longer they are.
    static func maximumShare(_ window: UInt64) -> Int {
        switch WindowIndex.size(of: window) {
        case 0, 1: 0
        case 2: 1
        case 3: 4
        default: 16
        }
    }

    /// The windows with their expressions, for an index, and the expressions that have no window to be found by.
    func choose() -> (entries: [(window: UInt64, number: UInt32)], others: [UInt32]) {
        let counts = Counts(self)
        var entries: [(window: UInt64, number: UInt32)] = []
        var isOther = [Bool](repeating: false, count: expressionEnds.count)
        var sets = 0
        for (number, end) in expressionEnds.enumerated() {
            var best: (windows: [UInt64], cost: Int) = ([], .max)
            for set in sets..<end {
                let choice = windows(ofSet: set, counts)
                if choice.cost < best.cost { best = choice }
            }
            sets = end
            isOther[number] = best.windows.isEmpty
            for window in best.windows { entries.append((window, UInt32(truncatingIfNeeded: number))) }
        }
        entries.sort { ($0.window, $0.number) < ($1.window, $1.number) }

        var start = 0
        while start < entries.count {
            let end = entries[start...].firstIndex { $0.window != entries[start].window } ?? entries.count
            if end - start > Self.maximumShare(entries[start].window) {
                for entry in entries[start..<end] { isOther[Int(entry.number)] = true }
            }
            start = end
        }
        entries.removeAll { isOther[Int($0.number)] }
        return (entries, isOther.indices.filter { isOther[$0] }.map { UInt32(truncatingIfNeeded: $0) })
    }

    /// The rarest window of each text of a set, without doubles, and what they cost together.
    private func windows(ofSet set: Int, _ counts: Counts) -> (windows: [UInt64], cost: Int) {
        var chosen: [UInt64] = []
        var cost = 0
        for text in (set > 0 ? setEnds[set - 1] : 0)..<setEnds[set] {
            var rarest: (window: UInt64, cost: Int) = (0, .max)
            forEachWindow(ofText: text) { window in
                // A shorter window is in more URLs, however few expressions have it.
                let weight = 1 << (2 * max(0, 5 - WindowIndex.size(of: window)))
                let cost = counts[window] * weight
                // Of several the last, which texts that end alike have in common.
                if cost <= rarest.cost { rarest = (window, cost) }
            }
            if !chosen.contains(rarest.window) {
                chosen.append(rarest.window)
                cost += rarest.cost
            }
        }
        return (chosen, cost)
    }

    private func forEachWindow(ofText text: Int, _ body: (UInt64) -> Void) {
        let start = text > 0 ? textEnds[text - 1] : 0
        let size = min(textEnds[text] - start, WindowIndex.maximumSize)
        guard size > 0 else { return }
        let mask = UInt64.max >> UInt64(64 - 8 * size)
        var latest: UInt64 = 0
        for position in start..<textEnds[text] {
            latest = (latest << 8 | UInt64(texts[position])) & mask
            if position - start + 1 >= size { body(latest) }
        }
    }

    /// How many expressions have a window in their texts, or more where windows have the same hash.
    private struct Counts {
        private var counts: [UInt16]
        private let shift: UInt64

        init(_ chooser: WindowChooser) {
            let bits = min(max(UInt64.bitWidth - (2 * chooser.texts.count).leadingZeroBitCount, 14), 22)
            var counts = [UInt16](repeating: 0, count: 1 << bits)
            var latest = [UInt32](repeating: .max, count: 1 << bits)
            let shift = UInt64(64 - bits)
            var text = 0
            for (number, end) in chooser.expressionEnds.enumerated() {
                let number = UInt32(truncatingIfNeeded: number)
                let textEnd = end > 0 ? chooser.setEnds[end - 1] : 0
                while text < textEnd {
                    chooser.forEachWindow(ofText: text) { window in
                        let slot = Int(truncatingIfNeeded: WindowIndex.hash(window) >> shift)
                        guard latest[slot] != number, counts[slot] < .max else { return }
                        latest[slot] = number
                        counts[slot] += 1
                    }
                    text += 1
                }
            }
            self.counts = counts
            self.shift = shift
        }

        subscript(window: UInt64) -> Int {
            Int(counts[Int(truncatingIfNeeded: WindowIndex.hash(window) >> shift)])
        }
    }
}
