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
        case 1: isOtherScheme ? "tolerant" : "exact"
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
        let hash = ArchiveIndex.looseHash(url, pathEnd: pathEnd, index.rules)
        // Most requests are for a URL as it was recorded, which takes no parameters apart.
        var same: [Int] = []
        index.loose.forEach(hash) { number in
            let isSame = ArchiveFinder.withURL(table[number]) { recorded, _ in URLText.equal(recorded, url) }
            if isSame, mayAnswer(number) { same.append(number) }
            return same.count < ArchiveFinder.most
        }
        if !same.isEmpty, index.rules.redacted.isEmpty, let candidates = candidates(ArchiveStep(1), same) {
            return candidates
        }
        // By step, those of the same scheme before those of the other.
        var found: [[Int]] = Array(repeating: [], count: 6)
        let isSecure = ArchiveIndex.isSecure(url)
        var looks = 0
        index.loose.forEach(hash) { number in
            looks += 1
            guard looks <= ArchiveFinder.most else { return false }
            guard let step = step(of: number, asked), mayAnswer(number) else { return true }
            let isOther = ArchiveFinder.withURL(table[number]) { url, _ in ArchiveIndex.isSecure(url) } != isSecure
            let place = (step - 1) * 2 + (isOther ? 1 : 0)
            found[place].append(number)
            return true
        }
        let last = archive.mode == .strict ? 0 : 5
        for place in 0...last where !found[place].isEmpty {
            let step = ArchiveStep(place / 2 + 1, isOtherScheme: place % 2 == 1)
            if let candidates = candidates(step, found[place]) { return candidates }
        }
        return nil
    }

    private func step(of number: Int, _ asked: SplitQuery) -> Int? {
        ArchiveFinder.withURL(table[number]) { url, pathEnd in
            guard hasSamePath(url, pathEnd) else { return nil }
            let query = UnsafeRawBufferPointer(rebasing: url[pathEnd...])
            if URLText.equal(query, UnsafeRawBufferPointer(rebasing: self.url[self.pathEnd...])) { return 1 }
            // Strictly the same URL has the same text; only a value that was taken out equals others.
            if archive.mode == .strict, index.rules.redacted.isEmpty { return nil }
            return SplitQuery(url, pathEnd: pathEnd, index.rules).step(of: asked)
        }
    }

    /// Step 4.
    private func byStaticFile(_ asked: SplitQuery) -> ArchiveCandidates? {
        guard StaticFile.isNamed(by: UnsafeRawBufferPointer(rebasing: url[..<pathEnd])) else { return nil }
        return best(4) { number in
            ArchiveFinder.withURL(table[number]) { url, pathEnd in
                SplitQuery(url, pathEnd: pathEnd, index.rules).equalCount(asked)
            }
        }
    }

    /// Step 5.
    private func byLikeness(_ asked: SplitQuery) -> ArchiveCandidates? {
        best(5) { number in
            let likeness = ArchiveFinder.withURL(table[number]) { url, pathEnd in
                SplitQuery(url, pathEnd: pathEnd, index.rules).likeness(asked)
            }
            return likeness >= 0.5 ? Int((likeness * 100).rounded()) : nil
        }
    }

    /// The first of those of the same path that score best; of the other scheme only where the same has none.
    private func best(_ step: Int, _ score: (Int) -> Int?) -> ArchiveCandidates? {
        let isSecure = ArchiveIndex.isSecure(url)
        var best: [(entry: Int, score: Int)?] = [nil, nil]
        forEachOfPath { number in
            guard mayAnswer(number), let score = score(number) else { return }
            let isOther = ArchiveFinder.withURL(table[number]) { url, _ in ArchiveIndex.isSecure(url) } != isSecure
            let place = isOther ? 1 : 0
            if let known = best[place], known.score >= score { return }
            if candidates(ArchiveStep(step), [number]) != nil { best[place] = (number, score) }
        }
        for place in 0...1 {
            guard let found = best[place] else { continue }
            let step = ArchiveStep(step, isOtherScheme: place == 1, likeness: step == 5 ? found.score : 0)
            return candidates(step, [found.entry])
        }
        return nil
    }

    /// Step 6.
    private func bySize() -> ArchiveCandidates? {
        guard let asked = ImageSize(url, pathEnd: pathEnd), let images = index.images else { return nil }
        let isSecure = ArchiveIndex.isSecure(url)
        var best: [(entry: Int, size: Int)?] = [nil, nil]
        var looks = 0
        images.forEach(asked.hash) { number in
            looks += 1
            guard looks <= ArchiveFinder.most else { return false }
            let image = ArchiveFinder.withURL(table[number]) { ImageSize($0, pathEnd: $1) }
            guard let image, image.text == asked.text, mayAnswer(number) else { return true }
            let isOther = ArchiveFinder.withURL(table[number]) { url, _ in ArchiveIndex.isSecure(url) } != isSecure
            let place = isOther ? 1 : 0
            let known = best[place]?.size ?? -1
            // The smallest that is no smaller, else the largest.
            let isBetter =
                image.size >= asked.size
                ? known < asked.size || image.size < known : known < asked.size && image.size > known
            if isBetter { best[place] = (number, image.size) }
            return true
        }
        for place in 0...1 {
            if let found = best[place] { return candidates(ArchiveStep(6, isOtherScheme: place == 1), [found.entry]) }
        }
        return nil
    }

    // MARK: Entries

    private func forEachOfPath(_ body: (Int) -> Void) {
        var looks = 0
        index.paths.forEach(ArchiveIndex.pathHash(url, pathEnd: pathEnd)) { number in
            looks += 1
            let isSame = ArchiveFinder.withURL(table[number]) { hasSamePath($0, $1) }
            if isSame { body(number) }
            return looks < ArchiveFinder.most
        }
    }

    private func hasSamePath(_ recorded: UnsafeRawBufferPointer, _ recordedEnd: Int) -> Bool {
        let mine = UnsafeRawBufferPointer(rebasing: recorded[ArchiveIndex.keyStart(recorded)..<recordedEnd])
        return URLText.equal(mine, UnsafeRawBufferPointer(rebasing: url[ArchiveIndex.keyStart(url)..<pathEnd]))
    }

    static func withURL<Result>(
        _ entry: EntryTable.Entry, _ body: (UnsafeRawBufferPointer, Int) -> Result
    ) -> Result {
        entry.url.withUnsafeBytes { body($0, entry.pathEnd) }
    }

    /// Whether an entry is one for the request's method, and of those that count.
    private func mayAnswer(_ number: Int) -> Bool {
        let entry = table[number]
        guard entry.isUsable, archive.counts(number) else { return false }
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
        if !hasBody, archive.mode != .nearest {
            entries.removeAll { table[$0].hasRequestBody }
            guard !entries.isEmpty else { return nil }
        }
        // What changes something has to be noted, whatever tells it apart.
        guard method == .get || method == .head else {
            return ArchiveCandidates(archive: archive, step: step, entries: entries, isCertain: false)
        }
        let isCertain =
            entries.count == 1 && !hasBody && !table[entries[0]].isPartial
            && !(method == .head && table[entries[0]].method == "HEAD")
        return ArchiveCandidates(
            archive: archive, step: step, entries: entries, isCertain: isCertain || isAlone(entries))
    }

    /// Whether the only candidate has no body recorded, which equals any.
    private func isAlone(_ entries: [Int]) -> Bool {
        entries.count == 1 && hasBody && !table[entries[0]].hasRequestBody && !table[entries[0]].isPartial
    }
}
