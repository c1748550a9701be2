/// The one of some known words that a word is most likely a misspelling of, or nil if none is near.
///
/// Near is a third of the longer word's characters, one at least, in insertions, deletions, replacements and swaps of
/// neighbours (the restricted Damerau-Levenshtein distance). Case counts for nothing, and of equally near words the
/// first is taken. Words of more than 64 characters resemble nothing.
public func didYouMean(_ word: String, among candidates: some Sequence<String>) -> String? {
    let typed = foldedScalars(word)
    guard !typed.isEmpty, typed.count <= 64 else { return nil }
    var best: (candidate: String, distance: Int)?
    for candidate in candidates {
        let known = foldedScalars(candidate)
        let longer = max(typed.count, known.count)
        let threshold = max(1, longer / 3)
        guard longer <= 64, abs(typed.count - known.count) <= threshold else { continue }
        let distance = editDistance(typed, known)
        // A distance of the whole word's length would offer `b` for `a`.
        guard distance <= threshold, distance < min(typed.count, known.count) else { continue }
        if distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    return best?.candidate
}

/// As ``didYouMean(_:among:)-(String,_)``, for a word in bytes, such as a scalar's.
public func didYouMean(_ word: some Sequence<UInt8>, among candidates: some Sequence<String>) -> String? {
    // 64 characters have at most 256 bytes; one more makes the word too long.
    didYouMean(String(decoding: Array(word.prefix(257)), as: UTF8.self), among: candidates)
}

private func foldedScalars(_ word: String) -> [UInt32] {
    word.unicodeScalars.map { scalar in
        (0x41...0x5A).contains(scalar.value) ? scalar.value | 0x20 : scalar.value
    }
}

/// The restricted Damerau-Levenshtein distance (optimal string alignment), with three rows of the table.
func editDistance(_ first: [UInt32], _ second: [UInt32]) -> Int {
    var beforeLast = [Int](repeating: 0, count: second.count + 1)
    var last = Array(0...second.count)
    for row in first.indices {
        var current = [row + 1]
        current.reserveCapacity(second.count + 1)
        for column in second.indices {
            let replacement = last[column] + (first[row] == second[column] ? 0 : 1)
            var distance = min(replacement, last[column + 1] + 1, current[column] + 1)
            if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
                distance = min(distance, beforeLast[column - 1] + 1)
            }
            current.append(distance)
        }
        (beforeLast, last) = (last, current)
    }
    return last[second.count]
}
