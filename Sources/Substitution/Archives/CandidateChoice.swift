import Archives
import Synchronization

extension ArchiveCandidates {
    /// The entries that a request may get, the best first in rank: those that are told apart only by whose turn it is.
    ///
    /// A HEAD gets what was recorded for GET, where that was. Equal bodies come first, then the fewest fields that
    /// differ of those in Vary, then the most equal fields. Empty where no body is equal.
    public func chosen(for request: ArchiveRequest, _ details: [EntryDetails]) -> [Int] {
        var remaining = details.filter { entry in
            guard table(entry.number).isPartial else { return true }
            return entry.range != nil && entry.range == request.range
        }
        let whole = remaining.filter { !table($0.number).isPartial }
        if request.range == nil || !whole.isEmpty { remaining = whole }
        if request.isHead {
            let ofGET = remaining.filter { table($0.number).method == "GET" }
            if !ofGET.isEmpty { remaining = ofGET }
        }
        remaining = withEqualBody(remaining, request)
        guard remaining.count > 1 else { return remaining.map(\.number) }
        func keepBest(_ score: (EntryDetails) -> Int) {
            let scores = remaining.map(score)
            let best = scores.max() ?? 0
            remaining = zip(remaining, scores).filter { $0.1 == best }.map(\.0)
        }
        keepBest { -$0.differingFields(of: request) }
        keepBest { $0.equalFields(of: request) }
        return remaining.map(\.number)
    }

    /// The entry that always answers where there is no sequence: the first 2xx with a body, else the first.
    public func steady(_ chosen: [Int], _ details: [EntryDetails]) -> Int {
        let numbers = Set(chosen)
        let best = details.first { numbers.contains($0.number) && $0.isSuccess && $0.hasContent }
        return best?.number ?? chosen.first ?? 0
    }

    /// Whether all are parts of responses, which only requests for the same parts get.
    public var areParts: Bool { entries.allSatisfy { table($0).isPartial } }

    /// Whether the body of the request, which has one, tells which of them it gets, or whether it gets one at all.
    public var dependOnBody: Bool {
        if mayRedirect || entries.contains(where: { table($0).isPartial }) { return true }
        guard entries.contains(where: { table($0).hasRequestBody }) else { return false }
        return archive.mode != .nearest || entries.count > 1
    }

    private func table(_ number: Int) -> EntryTable.Entry { archive.table[number] }

    private func withEqualBody(_ entries: [EntryDetails], _ request: ArchiveRequest) -> [EntryDetails] {
        if request.equalsAny { return entries }
        guard let body = request.body, !body.bytes.isEmpty else {
            let without = entries.filter { $0.body?.bytes.isEmpty ?? true }
            return without.isEmpty && archive.mode == .nearest ? entries : without
        }
        let withBody = entries.filter { $0.body != nil }
        let kinds: [ComparedBody.Kind] = archive.mode == .strict ? [.bytes] : ComparedBody.Kind.allCases
        let rules = archive.index.rules
        for kind in kinds {
            let equal: [EntryDetails]
            if kind == .form {
                // The request's is taken apart once, however many there are.
                equal =
                    body.withPairs(rules) { form in
                        withBody.filter { $0.body?.equals(form: form, rules) ?? false }
                    } ?? []
            } else {
                equal = withBody.filter { $0.body?.equals(body, as: kind, rules) ?? false }
            }
            if !equal.isEmpty { return equal }
        }
        if archive.mode == .strict {
            let marked = withBody.filter { $0.body?.equalsButForMarks(body, rules) ?? false }
            if !marked.isEmpty { return marked }
        }
        // A recorded body that is too large to be compared equals any.
        let without = entries.filter { $0.body?.isTooLarge ?? true }
        if !without.isEmpty { return without }
        return archive.mode == .nearest ? entries : []
    }

    /// What is said of an entry that was found: `without t; scheme`; empty for the same URL.
    public func tolerance(_ number: Int, url: UnsafeRawBufferPointer, pathEnd: Int) -> String {
        var words: [String] = []
        switch step.number {
        case 2: words.append("order")
        case 3:
            let known = entries.count == 1 && entries[0] == number ? wordsWithout : nil
            guard let known else {
                words.append(wordsWithout(number, url, pathEnd))
                break
            }
            if !step.isOtherScheme { return known }
            words.append(known)
        case 4: words.append("without query")
        case 5:
            let hundredths = step.likeness % 100
            words.append("nearest \(step.likeness / 100).\(hundredths < 10 ? "0" : "")\(hundredths)")
        case 6: words.append("size")
        default: break
        }
        if step.isOtherScheme { words.append("scheme") }
        return words.joined(separator: "; ")
    }

    /// The cache busters in which a request differs from the URL by which it has found an entry.
    private func wordsWithout(_ number: Int, _ url: UnsafeRawBufferPointer, _ pathEnd: Int) -> String {
        let rules = archive.index.rules
        let asked = SplitQuery(url, pathEnd: pathEnd, rules)
        let table = archive.table
        var entry = table[number]
        if let further = table.placeOfFurtherURL(number) {
            let isFound = ArchiveFinder.withURL(entry) { own, ownEnd in
                ArchiveFinder.isSamePath(own, ownEnd, url, pathEnd)
                    && SplitQuery(own, pathEnd: ownEnd, rules).step(of: asked) == 3
            }
            if !isFound { entry = table.found(byURL: further) }
        }
        return ArchiveFinder.withURL(entry) { SplitQuery($0, pathEnd: $1, rules).wordsWithout(asked) }
    }

    /// Those of the chosen that are in order for a client: the ones behind the last change that it was answered from,
    /// and before the next one. Requests that change something themselves take their turns whatever was changed.
    ///
    /// - Parameter lastChange: the number of that change; nil for none.
    public func inState(_ chosen: [Int], lastChange: Int?) -> [Int] {
        guard chosen.count > 1, !archive.changesSomething(chosen[0]) else { return chosen }
        let changes = archive.changes(around: chosen[0])
        guard !changes.isEmpty else { return chosen }
        var remaining = chosen
        let last = lastChange ?? -1
        let later = remaining.filter { $0 > last }
        if !later.isEmpty { remaining = later }
        if let next = changes.first(where: { $0 > last }) {
            let earlier = remaining.filter { $0 < next }
            if !earlier.isEmpty { remaining = earlier }
        }
        return remaining
    }
}

extension MapArchive {
    /// The entries that change something on the path of another entry, above or below it, in order; of those that the
    /// map counts.
    public func changes(around number: Int) -> [Int] {
        guard !index.changes.isEmpty else { return [] }
        return relatedChanges.withLock { known in
            if let found = known[number] { return found }
            if known.values.reduce(0, { $0 + $1.count + 16 }) > 1_000_000 { known = [:] }
            let found = index.changes.map { Int($0) }.filter { change in
                change != number && counts(change) && MapArchive.isRelated(table[change], table[number])
            }
            known[number] = found
            return found
        }
    }

    /// Whether an entry's method changes something: GraphQL's queries don't, though they are POSTs.
    public func changesSomething(_ number: Int) -> Bool {
        // In order, so it is found by halves.
        var (low, high) = (0, index.changes.count)
        while low < high {
            let middle = (low + high) / 2
            if Int(index.changes[middle]) < number { low = middle + 1 } else { high = middle }
        }
        return low < index.changes.count && Int(index.changes[low]) == number
    }

    /// Whether one path is the other, or is above it.
    private static func isRelated(_ one: EntryTable.Entry, _ other: EntryTable.Entry) -> Bool {
        ArchiveFinder.withURL(one) { first, firstEnd in
            ArchiveFinder.withURL(other) { second, secondEnd in
                let left = UnsafeRawBufferPointer(rebasing: first[ArchiveIndex.keyStart(first)..<firstEnd])
                let right = UnsafeRawBufferPointer(rebasing: second[ArchiveIndex.keyStart(second)..<secondEnd])
                let (short, long) = left.count <= right.count ? (left, right) : (right, left)
                guard URLText.hasPrefix(long, short) else { return false }
                return short.count == long.count || short.last == UInt8(ascii: "/")
                    || long[short.count] == UInt8(ascii: "/")
            }
        }
    }
}
