import Archives
import HTTPSemantics

/// Which way a request found an entry.
public struct ArchiveStep: Sendable, Hashable {
    /// From 1, the same URL, to 6, an image of another size.
    public let number: Int
    /// Of http and https, the other one was recorded.
    public let isOtherScheme: Bool
    /// 2·M/T of step 5, in hundredths.
    let likeness: Int

    init(_ number: Int, isOtherScheme: Bool = false, likeness: Int = 0) {
        self.number = number
        self.isOtherScheme = isOtherScheme
        self.likeness = likeness
    }

    /// The label of the metric.
    public var kind: String {
        switch number {
        case 1: "exact"
        case 2, 3, 4: "tolerant"
        default: "nearest"
        }
    }
}

/// The entries of an archive that may answer a request.
public struct ArchiveCandidates: Sendable {
    public let archive: MapArchive
    /// The archive's place among those of the map.
    public internal(set) var place = 0
    public let step: ArchiveStep
    /// Their numbers from 0, in the order of the archive; one at least.
    public internal(set) var entries: [Int]
    /// Whether nothing else of the request has to be looked at: there is one, and it is not told by bodies or ranges.
    public internal(set) var isCertain: Bool
    /// What is said of the only entry where it was found without cache busters; nil where that is not known yet.
    var wordsWithout: String?
    /// Whether some may redirect to the very URL that is asked for, which ``withoutRedirects(to:)`` finds out.
    public internal(set) var mayRedirect = false
}

/// Finds the entries for a request by its URL and method.
struct ArchiveFinder {
    let archive: MapArchive
    let url: UnsafeRawBufferPointer
    let pathEnd: Int
    let method: Method
    let methodText: [UInt8]
    let hasBody: Bool
    let hasRange: Bool

    /// The most entries of one step that are looked at.
    private static let most = 10_000
    /// About the bytes of queries that steps 4 and 5 take apart, since other requests wait meanwhile.
    private static let mostQueryBytes = 4 << 20

    private var index: ArchiveIndex { archive.index }
    private var table: EntryTable { archive.table }

    func find() -> ArchiveCandidates? {
        let asked = SplitQuery(url, pathEnd: pathEnd, index.rules)
        if let found = bySameURL(asked) { return found }
        guard archive.mode != .strict, method == .get || method == .head else { return nil }
        if let found = byStaticFile(asked) { return found }
        guard archive.mode == .nearest else { return nil }
        return byLikeness(asked) ?? bySize()
    }

    // MARK: Steps

    /// Steps 1 to 3.
    private func bySameURL(_ asked: SplitQuery) -> ArchiveCandidates? {
        let rules = index.rules
        let hash = ArchiveIndex.looseHash(url, pathEnd: pathEnd, asked, rules)
        // Most requests are for a URL as it was recorded, which takes no parameters apart.
        var same: [Int] = []
        index.loose.forEach(hash) { place in
            let entry = table.found(byURL: place)
            let isSame = ArchiveFinder.withURL(entry) { recorded, _ in URLText.equal(recorded, url) }
            if isSame, mayAnswer(entry, place) { add(place, to: &same) }
            return same.count < ArchiveFinder.most
        }
        if !same.isEmpty, !rules.hasRedacted, let candidates = candidates(ArchiveStep(1), same) {
            return candidates
        }
        // By step, those of the same scheme before those of the other. Mostly there is one.
        var first: (rank: Int, place: Int)?
        var others: [(rank: Int, place: Int)] = []
        var words: String?
        let isSecure = ArchiveIndex.isSecure(url)
        var looks = 0
        index.loose.forEach(hash) { place in
            looks += 1
            guard looks <= ArchiveFinder.most else { return false }
            let entry = table.found(byURL: place)
            guard let found = match(entry, asked, rules, isFirst: first == nil), mayAnswer(entry, place) else {
                return true
            }
            let rank = (found.step - 1) * 2 + (isOther(entry, isSecure) ? 1 : 0)
            if first == nil {
                first = (rank, place)
                words = found.words
            } else {
                others.append((rank, place))
            }
            return true
        }
        guard let first else { return nil }
        let last = archive.mode == .strict ? 0 : 5
        guard !others.isEmpty else {
            guard first.rank <= last else { return nil }
            var only = candidates(ArchiveFinder.step(first.rank), [table.index(ofURL: first.place)])
            only?.wordsWithout = words
            return only
        }
        for rank in 0...last {
            var numbers: [Int] = []
            if first.rank == rank { add(first.place, to: &numbers) }
            for candidate in others where candidate.rank == rank { add(candidate.place, to: &numbers) }
            if !numbers.isEmpty, let candidates = candidates(ArchiveFinder.step(rank), numbers) { return candidates }
        }
        return nil
    }

    private static func step(_ rank: Int) -> ArchiveStep { ArchiveStep(rank / 2 + 1, isOtherScheme: rank % 2 == 1) }

    /// Adds the entry that a URL is of, in the order of the archive. Further URLs come behind all others.
    private func add(_ place: Int, to numbers: inout [Int]) {
        guard place >= table.count else { return numbers.append(place) }
        let number = table.index(ofURL: place)
        guard !numbers.contains(number) else { return }
        numbers.insert(number, at: numbers.firstIndex { $0 > number } ?? numbers.count)
    }

    private func isOther(_ entry: EntryTable.Entry, _ isSecure: Bool) -> Bool {
        ArchiveFinder.withURL(entry) { url, _ in ArchiveIndex.isSecure(url) } != isSecure
    }

    /// By which step an entry is found, and for the first entry what is said where that is 3.
    private func match(
        _ entry: EntryTable.Entry, _ asked: SplitQuery, _ rules: ParameterRules, isFirst: Bool
    ) -> (step: Int, words: String?)? {
        ArchiveFinder.withURL(entry) { url, pathEnd in
            guard hasSamePath(url, pathEnd) else { return nil }
            let query = UnsafeRawBufferPointer(rebasing: url[pathEnd...])
            if URLText.equal(query, UnsafeRawBufferPointer(rebasing: self.url[self.pathEnd...])) {
                return (1, nil)
            }
            // Strictly the same URL has the same text; only a value that was taken out equals others.
            if archive.mode == .strict, !rules.hasRedacted { return nil }
            let recorded = SplitQuery(url, pathEnd: pathEnd, rules)
            guard let step = recorded.step(of: asked) else { return nil }
            return (step, isFirst && step == 3 ? recorded.wordsWithout(asked) : nil)
        }
    }

    /// Step 4.
    private func byStaticFile(_ asked: SplitQuery) -> ArchiveCandidates? {
        guard StaticFile.isNamed(by: UnsafeRawBufferPointer(rebasing: url[..<pathEnd])) else { return nil }
        return best(4) { entry in
            ArchiveFinder.withURL(entry) { url, pathEnd in
                SplitQuery(url, pathEnd: pathEnd, index.rules).equalCount(asked)
            }
        }
    }

    /// Step 5.
    private func byLikeness(_ asked: SplitQuery) -> ArchiveCandidates? {
        best(5) { entry in
            let likeness = ArchiveFinder.withURL(entry) { url, pathEnd in
                SplitQuery(url, pathEnd: pathEnd, index.rules).likeness(asked)
            }
            return likeness >= 0.5 ? Int((likeness * 100).rounded()) : nil
        }
    }

    /// The first of those of the same path that score best, with step 5 all of its URL; of the other scheme only where
    /// the same has none. Where there are too many or too long ones, those that come first in the archive are compared.
    private func best(_ step: Int, _ score: (EntryTable.Entry) -> Int?) -> ArchiveCandidates? {
        let isSecure = ArchiveIndex.isSecure(url)
        var best: [(place: Int, score: Int)?] = [nil, nil]
        var left = ArchiveFinder.mostQueryBytes
        forEachOfPath { place in
            let entry = table.found(byURL: place)
            guard mayAnswer(entry, place) else { return true }
            left -= (entry.url.count - entry.pathEnd) + (url.count - pathEnd)
            guard left > 0 else { return false }
            guard let score = score(entry) else { return true }
            let rank = isOther(entry, isSecure) ? 1 : 0
            if let known = best[rank], known.score >= score { return true }
            if candidates(ArchiveStep(step), [table.index(ofURL: place)]) != nil { best[rank] = (place, score) }
            return true
        }
        for rank in 0...1 {
            guard let found = best[rank] else { continue }
            let isLikeness = step == 5
            return candidates(
                ArchiveStep(step, isOtherScheme: rank == 1, likeness: isLikeness ? found.score : 0),
                isLikeness ? entries(ofURLAt: found.place) : [table.index(ofURL: found.place)])
        }
        return nil
    }

    /// All entries that may answer and have the URL at a place, in the order of the archive.
    private func entries(ofURLAt place: Int) -> [Int] {
        let wanted = table.found(byURL: place)
        var numbers: [Int] = []
        var looks = 0
        index.paths.forEach(ArchiveFinder.withURL(wanted) { ArchiveIndex.pathHash($0, pathEnd: $1) }) { place in
            looks += 1
            let entry = table.found(byURL: place)
            let isSame = ArchiveFinder.withURL(entry) { url, _ in
                ArchiveFinder.withURL(wanted) { other, _ in URLText.equal(url, other) }
            }
            if isSame, mayAnswer(entry, place) { add(place, to: &numbers) }
            return looks < ArchiveFinder.most
        }
        if numbers.isEmpty { add(place, to: &numbers) }
        return numbers
    }

    /// Step 6.
    private func bySize() -> ArchiveCandidates? {
        guard let asked = ImageSize(url, pathEnd: pathEnd), let images = index.images else { return nil }
        let isSecure = ArchiveIndex.isSecure(url)
        var best: [(place: Int, size: Int)?] = [nil, nil]
        var looks = 0
        images.forEach(asked.hash) { place in
            looks += 1
            guard looks <= ArchiveFinder.most else { return false }
            let entry = table.found(byURL: place)
            let image = ArchiveFinder.withURL(entry) { ImageSize($0, pathEnd: $1) }
            guard let image, image.text == asked.text, mayAnswer(entry, place) else { return true }
            let rank = isOther(entry, isSecure) ? 1 : 0
            let known = best[rank]?.size ?? -1
            // The smallest that is no smaller, else the largest.
            let isBetter =
                image.size >= asked.size
                ? known < asked.size || image.size < known : known < asked.size && image.size > known
            if isBetter { best[rank] = (place, image.size) }
            return true
        }
        for rank in 0...1 {
            guard let found = best[rank] else { continue }
            return candidates(ArchiveStep(6, isOtherScheme: rank == 1), entries(ofURLAt: found.place))
        }
        return nil
    }

    // MARK: Entries

    /// Calls `body` with the places of URLs, until it returns false.
    private func forEachOfPath(_ body: (Int) -> Bool) {
        var looks = 0
        index.paths.forEach(ArchiveIndex.pathHash(url, pathEnd: pathEnd)) { place in
            looks += 1
            let isSame = ArchiveFinder.withURL(table.found(byURL: place)) { hasSamePath($0, $1) }
            return (!isSame || body(place)) && looks < ArchiveFinder.most
        }
    }

    private func hasSamePath(_ recorded: UnsafeRawBufferPointer, _ recordedEnd: Int) -> Bool {
        ArchiveFinder.isSamePath(recorded, recordedEnd, url, pathEnd)
    }

    /// Whether two URLs have the same host and path.
    static func isSamePath(
        _ one: UnsafeRawBufferPointer, _ oneEnd: Int, _ other: UnsafeRawBufferPointer, _ otherEnd: Int
    ) -> Bool {
        URLText.equal(
            UnsafeRawBufferPointer(rebasing: one[ArchiveIndex.keyStart(one)..<oneEnd]),
            UnsafeRawBufferPointer(rebasing: other[ArchiveIndex.keyStart(other)..<otherEnd]))
    }

    static func withURL<Result>(
        _ entry: EntryTable.Entry, _ body: (UnsafeRawBufferPointer, Int) -> Result
    ) -> Result {
        entry.url.withUnsafeBytes { body($0, entry.pathEnd) }
    }

    /// Whether an entry is one for the request's method, and of those that count.
    private func mayAnswer(_ entry: EntryTable.Entry, _ place: Int) -> Bool {
        guard entry.isUsable, archive.counts(place) else { return false }
        // Scripts of other origins ask the proxy, which knows what the archive has.
        guard method != .options || archive.options.cors == .off else { return false }
        guard !entry.isPartial || hasRange else { return false }
        return answers(entry)
    }

    private func answers(_ entry: EntryTable.Entry) -> Bool {
        switch method {
        case .get: entry.method == "GET"
        case .head: entry.method == "GET" || entry.method == "HEAD"
        default: entry.method.utf8.elementsEqual(methodText)
        }
    }

    /// The candidates of a step; nil where the request has no body, and all of them have.
    private func candidates(_ step: ArchiveStep, _ found: [Int]) -> ArchiveCandidates? {
        var entries = found
        if !hasBody, archive.mode != .nearest, entries.contains(where: { table[$0].hasRequestBody }) {
            entries.removeAll { table[$0].hasRequestBody }
            guard !entries.isEmpty else { return nil }
        }
        // What changes something has to be noted, whatever tells it apart.
        guard method == .get || method == .head else {
            return ArchiveCandidates(archive: archive, step: step, entries: entries, isCertain: false)
        }
        return ArchiveCandidates(
            archive: archive, step: step, entries: entries,
            isCertain: entries.count == 1 && isCertain(table[entries[0]])
                && !archive.index.takesTurns(entries[0]))
    }

    /// Whether nothing else of the request has to be looked at where this is the only candidate.
    private func isCertain(_ entry: EntryTable.Entry) -> Bool {
        guard !entry.isPartial else { return false }
        // An entry without a recorded body equals any.
        return hasBody ? !entry.hasRequestBody : method != .head || entry.method != "HEAD"
    }
}
