/// How far the search has come with one star.
struct StarState: Sendable {
    /// Where the star's text begins.
    var start = 0
    /// Where what follows the star is tried next, going down to `lowest`.
    var rest = 0
    var lowest = 0
    /// All places above this one failed before, and would fail again.
    var limit = 0
    /// What stopped the text that began at `scannedFrom`, so that no byte is scanned twice.
    var scannedFrom = 0
    var scannedTo = 0
}

extension MatchScratch {
    /// Finds what the stars match, each as much as it can; the literals at both ends are known to match.
    ///
    /// What follows a star is tried from the far end down. Whether it matches at a place does not depend on where the
    /// star's text began, and the beginnings come in descending order too, so each place is tried once for each star.
    mutating func matchStars(of pattern: URLPattern, in input: Span<UInt8>, captures: inout CaptureList) -> Bool {
        guard !pattern.stars.isEmpty else { return input.count == pattern.literalPrefix.count }
        stars.removeAll(keepingCapacity: true)
        let unscanned = StarState(limit: input.count, scannedFrom: input.count, scannedTo: input.count)
        stars.append(contentsOf: repeatElement(unscanned, count: pattern.stars.count))
        let hostEnd = pattern.hostEnd(in: input)

        var index = 0
        enter(0, at: pattern.literalPrefix.count, pattern, input, hostEnd)
        while true {
            let star = pattern.stars[index]
            guard let rest = nextRest(index, star, input) else {
                if index == 0 { return false }
                index -= 1
                continue
            }
            if index + 1 < pattern.stars.count {
                index += 1
                enter(index, at: rest + star.literal.count, pattern, input, hostEnd)
                continue
            }
            for (number, star) in pattern.stars.enumerated() {
                let start = stars[number].start
                // A rest is one above where the next would be tried.
                let rest = stars[number].rest + 1
                captures.bounds[2 * number + 2] = start
                captures.bounds[2 * number + 3] = star.kind == .directories ? max(start, rest - 1) : rest
            }
            return true
        }
    }

    /// Begins the text of a star at `start`.
    private mutating func enter(
        _ index: Int, at start: Int, _ pattern: URLPattern, _ input: Span<UInt8>, _ hostEnd: Int
    ) {
        let star = pattern.stars[index]
        var end: Int
        switch star.kind {
        case .any, .directories: end = input.count
        case .host: end = hostEnd
        case .segment, .port: end = scan(index, from: start, star.kind, input)
        }
        end = min(end, input.count - star.tail)
        stars[index].start = start
        stars[index].rest = min(end, stars[index].limit)
        stars[index].lowest = star.kind == .host || star.kind == .port ? start + 1 : start
        if index + 1 == pattern.stars.count {
            // Nothing but the end can follow the last star's literal.
            let last = input.count - star.literal.count
            stars[index].lowest = max(stars[index].lowest, last)
        }
    }

    /// The next place where what follows the star can be, its literal being there.
    private mutating func nextRest(_ index: Int, _ star: URLPattern.Star, _ input: Span<UInt8>) -> Int? {
        let literal = star.literal.span
        let start = stars[index].start
        var rest = stars[index].rest
        let lowest = stars[index].lowest
        defer {
            stars[index].rest = rest
            stars[index].limit = min(stars[index].limit, rest)
        }
        while rest >= lowest {
            steps &+= 1
            let candidate = rest
            rest -= 1
            if star.kind == .directories, candidate > start, input[candidate - 1] != UInt8(ascii: "/") { continue }
            if literal.equals(input, at: candidate) { return candidate }
        }
        return nil
    }

    /// Where the text of a star that begins at `start` is stopped, at the latest.
    private mutating func scan(
        _ index: Int, from start: Int, _ kind: URLPattern.StarKind, _ input: Span<UInt8>
    ) -> Int {
        let known = stars[index].scannedFrom
        var end = start
        while end < input.count, end != known {
            let byte = input[end]
            if kind == .segment ? byte == UInt8(ascii: "/") : !ByteSet.digit.contains(byte) { break }
            end += 1
        }
        if end == known { end = stars[index].scannedTo }
        stars[index].scannedFrom = start
        stars[index].scannedTo = end
        return end
    }
}

extension URLPattern {
    /// Where the host of a URL ends that begins with `literalPrefix`; its end if the pattern has no star in the host.
    fileprivate func hostEnd(in input: Span<UInt8>) -> Int {
        guard stars.first?.kind == .host else { return input.count }
        var position = hostStart
        let isAddress = position < input.count && input[position] == UInt8(ascii: "[")
        while position < input.count {
            let byte = input[position]
            if isAddress, byte == UInt8(ascii: "]") { return position + 1 }
            if byte == UInt8(ascii: ":"), !isAddress { return position }
            if URLPatternParser.endsAuthority(byte) { return position }
            position += 1
        }
        return position
    }
}
