import Diagnostics
import Patterns

/// Puts the keys of the files into the map's indexes, and finds those that come twice.
///
/// Within a file a key that comes twice is an error. Over several files the rules of the file that comes first are
/// tried first, which a warning says.
struct KeyIndexer {
    /// The keys found by the same hash of an exact URL, where there are several, by the first of them.
    private var groups: [UInt32: Group] = [:]
    /// The URLs with a query among those that are found by their path.
    private var queries = IndexTable()
    /// The patterns and expressions by their text.
    private var texts: [String: UInt32] = [:]
    /// The place reported last, since a `//` key is looked up twice.
    private var reported: TextMark?

    /// Keys that are found by the same hash of an exact URL.
    private struct Group {
        private(set) var members: [UInt32] = []
        /// The first of them without parameters.
        private(set) var bare: UInt32?
        /// The first of them that answers whatever the query is.
        private(set) var ignoring: UInt32?

        mutating func add(_ entry: UInt32, _ rank: Rank, ignores: Bool) {
            members.append(entry)
            if rank == .bare { bare = bare ?? entry }
            if ignores { ignoring = ignoring ?? entry }
        }
    }

    /// A key that was there before another one, by its first rule.
    private enum Earlier {
        /// The same key.
        case same(UInt32)
        /// Another one, and both answer whatever the query is.
        case ignoring(UInt32)
    }

    // MARK: One file

    /// Indexes the keys of the file that was read last.
    mutating func index(
        _ keys: ContiguousArray<MapBuilder.Key>, _ storage: inout MapStorage, _ diagnostics: FileDiagnostics
    ) {
        reported = nil
        for key in keys { markPathKeys(key, &storage, diagnostics) }
        // From here neither arena nor records change, so the copies cost nothing.
        let arena = storage.arena
        let records = storage.records
        arena.withUnsafeBytes { arena in
            records.withUnsafeBufferPointer { records in
                let isExact = keys.first.map { records[Int($0.record)].kind == .exact } ?? false
                if isExact {
                    storage.exact.reserve(storage.exact.table.count + keys.count, arena: arena, records: records)
                }
                for key in keys {
                    if let earlier = index(key, &storage, arena, records) {
                        report(earlier, key, storage, diagnostics)
                    }
                }
            }
        }
    }

    /// Adds a key; the same key, or one like it, if there is one already.
    private mutating func index(
        _ key: MapBuilder.Key, _ storage: inout MapStorage, _ arena: UnsafeRawBufferPointer,
        _ records: UnsafeBufferPointer<RuleRecord>
    ) -> Earlier? {
        let record = records[Int(key.record)]
        guard record.kind != .expression else { return indexText(key.record, storage).map(Earlier.same) }
        storage.authorities.insert(record.keyRange, arena: arena)
        switch record.kind {
        case .exact: return indexExact(key.record, &storage, arena, records)
        case .folder:
            return storage.prefixes.insert(
                record: key.record, key: record.keyRange, rank: record.keyRange.count,
                pattern: PrefixIndex.Candidate.noPattern, arena: arena
            ).map(Earlier.same)
        default:
            let pattern = storage.patterns[Int(key.compiled)].pattern
            let start = record.keyRange.lowerBound
            let text = UnsafeRawBufferPointer(rebasing: arena[record.keyRange])
            // A path without a star goes on in the query, whose first star ends the prefix then.
            let rank = text.firstIndex(of: UInt8(ascii: "*")) ?? text.count
            storage.prefixes.insert(
                record: key.record, key: start..<start + pattern.literalPrefix.count, rank: rank,
                pattern: key.compiled, arena: arena)
            return indexText(key.record, storage).map(Earlier.same)
        }
    }

    private mutating func indexText(_ record: UInt32, _ storage: MapStorage) -> UInt32? {
        let text = storage.key(storage.records[Int(record)])
        if let earlier = texts[text] { return earlier }
        texts[text] = record
        return nil
    }

    // MARK: Exact URLs

    /// Marks the exact URLs that are found by their path: those without parameters, and those of which a rule has
    /// another condition for the query than that it be the same, here or in an earlier file, which is tried first.
    private func markPathKeys(_ key: MapBuilder.Key, _ storage: inout MapStorage, _ diagnostics: FileDiagnostics) {
        let head = storage.records[Int(key.record)]
        guard head.kind == .exact else { return }
        let hasOwnQuery = storage.withText(head.keyRange) { bytes in
            let pathEnd = URLText.pathEnd(bytes)
            return pathEnd < bytes.count && QueryParameters(of: bytes, pathEnd: pathEnd).count() > 0
        }
        guard hasOwnQuery else {
            storage.records[Int(key.record)].isFoundByPath = true
            return
        }
        let conditions = KeyIndexer.queryConditions(key.record, storage)
        storage.records[Int(key.record)].isFoundByPath = conditions != [.exact] || hasPathKey(head, storage)
        if conditions.contains(.ignore), !head.isSecondScheme {
            diagnostics.warning("the query of this URL takes no part, because of 'query: ignore'", at: key.span)
        }
    }

    /// Whether an earlier file has this URL, its query included, among those that are found by their path.
    private func hasPathKey(_ record: RuleRecord, _ storage: MapStorage) -> Bool {
        guard !queries.isEmpty else { return false }
        return storage.arena.withUnsafeBytes { arena in
            storage.records.withUnsafeBufferPointer { records in
                let key = UnsafeRawBufferPointer(rebasing: arena[record.keyRange])
                return pathKey(like: key, KeyIndexer.hash(withQuery: key), arena, records) != nil
            }
        }
    }

    /// The URL with the same query, in any order, among those that are found by their path.
    private func pathKey(
        like key: UnsafeRawBufferPointer, _ hash: UInt64, _ arena: UnsafeRawBufferPointer,
        _ records: UnsafeBufferPointer<RuleRecord>
    ) -> UInt32? {
        let pathEnd = URLText.pathEnd(key)
        let path = UnsafeRawBufferPointer(rebasing: key[0..<pathEnd])
        return queries.first(hash) { candidate in
            let text = UnsafeRawBufferPointer(rebasing: arena[records[Int(candidate)].keyRange])
            return ExactIndex.key(records[Int(candidate)], arena, hasPath: path)
                && QueryParameters(of: key, pathEnd: pathEnd)
                    .isPermutation(of: QueryParameters(of: text, pathEnd: pathEnd))
        }
    }

    /// The hash of a URL's path and of its parameters, in any order.
    private static func hash(withQuery key: UnsafeRawBufferPointer) -> UInt64 {
        let pathEnd = URLText.pathEnd(key)
        return QueryParameters(of: key, pathEnd: pathEnd)
            .combined(with: URLHash.of(UnsafeRawBufferPointer(rebasing: key[0..<pathEnd])))
    }

    /// What the rules of a key want of the query.
    private static func queryConditions(
        _ head: UInt32, _ storage: MapStorage
    ) -> Set<MapStorage.OptionSummary.Query> {
        var found: Set<MapStorage.OptionSummary.Query> = []
        var next = head
        while next != RuleRecord.none {
            let record = storage.records[Int(next)]
            found.insert(storage.summaries[Int(record.options)].query)
            next = record.next
        }
        return found
    }

    /// In which order exact URLs of one path are tried.
    private enum Rank: Int {
        /// Those of which the parameters take part.
        case parameters
        /// Those without parameters.
        case bare
        /// Those with parameters that all of their rules ignore.
        case ignored
    }

    private static func rank(_ head: UInt32, _ storage: MapStorage, _ arena: UnsafeRawBufferPointer) -> Rank {
        let record = storage.records[Int(head)]
        guard record.isFoundByPath else { return .parameters }
        let key = UnsafeRawBufferPointer(rebasing: arena[record.keyRange])
        let pathEnd = URLText.pathEnd(key)
        guard pathEnd < key.count, QueryParameters(of: key, pathEnd: pathEnd).count() > 0 else { return .bare }
        return queryConditions(head, storage) != [.ignore] ? .parameters : .ignored
    }

    private mutating func indexExact(
        _ entry: UInt32, _ storage: inout MapStorage, _ arena: UnsafeRawBufferPointer,
        _ records: UnsafeBufferPointer<RuleRecord>
    ) -> Earlier? {
        let record = records[Int(entry)]
        let key = UnsafeRawBufferPointer(rebasing: arena[record.keyRange])
        let pathEnd = URLText.pathEnd(key)
        let path = UnsafeRawBufferPointer(rebasing: key[0..<pathEnd])
        let pathHash = URLHash.of(path)
        let rank = KeyIndexer.rank(entry, storage, arena)
        if rank == .bare {
            let first = storage.exact.first(path: pathHash, key, pathEnd: pathEnd, arena: arena, records: records)
            guard let first else {
                storage.exact.insert(entry, hash: pathHash, arena: arena, records: records)
                return nil
            }
            return add(entry, rank, first, storage, arena)
        }
        let hash = QueryParameters(of: key, pathEnd: pathEnd).combined(with: pathHash)
        let exact = storage.exact.first(parameters: hash, key, pathEnd: pathEnd, arena: arena, records: records)
        let other = pathKey(like: key, hash, arena, records)
        var like: Earlier?
        if record.isFoundByPath {
            queries.insert(entry, hash: hash) { candidate in
                KeyIndexer.hash(withQuery: UnsafeRawBufferPointer(rebasing: arena[records[Int(candidate)].keyRange]))
            }
            if let first = storage.exact.first(
                path: pathHash, key, pathEnd: pathEnd, arena: arena, records: records)
            {
                like = add(entry, rank, first, storage, arena)
            } else {
                storage.exact.insert(entry, hash: pathHash, arena: arena, records: records)
            }
        } else if let exact {
            _ = add(entry, rank, exact, storage, arena)
        } else {
            storage.exact.insert(entry, hash: hash, arena: arena, records: records)
        }
        return (exact ?? other).map(Earlier.same) ?? like
    }

    /// Adds a key to those that are found by the same hash as `first`; the one among them that is like it.
    private mutating func add(
        _ entry: UInt32, _ rank: Rank, _ first: UInt32, _ storage: MapStorage, _ arena: UnsafeRawBufferPointer
    ) -> Earlier? {
        func ignores(_ head: UInt32) -> Bool { KeyIndexer.queryConditions(head, storage) == [.ignore] }
        var group = groups.removeValue(forKey: first) ?? Group()
        if group.members.isEmpty { group.add(first, KeyIndexer.rank(first, storage, arena), ignores: ignores(first)) }
        let (bare, ignoring) = (group.bare, group.ignoring)
        let ignoresToo = ignores(entry)
        group.add(entry, rank, ignores: ignoresToo)
        groups[first] = group
        if rank == .bare, let bare { return .same(bare) }
        return ignoresToo ? ignoring.map(Earlier.ignoring) : nil
    }

    // MARK: Keys that come twice

    private mutating func report(
        _ earlier: Earlier, _ key: MapBuilder.Key, _ storage: MapStorage, _ diagnostics: FileDiagnostics
    ) {
        guard reported != key.span.start else { return }
        reported = key.span.start
        switch earlier {
        case .same(let earlier): report(same: earlier, key, storage, diagnostics)
        case .ignoring(let earlier):
            let first = storage.records[Int(earlier)]
            let second = storage.records[Int(key.record)]
            let place =
                first.file == second.file
                ? "on line \(first.line)" : "in \(storage.files[Int(first.file)].name):\(first.line)"
            let (isEarlierBare, isBare) = storage.arena.withUnsafeBytes { arena in
                (
                    KeyIndexer.rank(earlier, storage, arena) == .bare,
                    KeyIndexer.rank(key.record, storage, arena) == .bare
                )
            }
            let order = isBare && !isEarlierBare ? "this one is tried first" : "that one is tried first"
            diagnostics.warning(
                "this URL answers any query, as the one \(place) does for the same path; \(order)", at: key.span)
        }
    }

    private func report(
        same earlier: UInt32, _ key: MapBuilder.Key, _ storage: MapStorage, _ diagnostics: FileDiagnostics
    ) {
        let first = storage.records[Int(earlier)]
        let second = storage.records[Int(key.record)]
        let noun: String
        switch second.kind {
        case .exact, .folder: noun = "URL"
        case .pattern: noun = "pattern"
        case .expression: noun = "regular expression"
        }
        let text = storage.key(second)
        // Where the two are written differently, what they have in common is shown.
        let isWrittenSo = diagnostics.writes(text, at: key.span)
        let normal = second.kind == .expression || isWrittenSo ? "" : "; normalised it is \(text)"
        guard first.file != second.file else {
            diagnostics.error("this \(noun) comes twice; it is on line \(first.line) already\(normal)", at: key.span)
            return
        }
        let file = storage.files[Int(first.file)].name
        let isTriedLater = storage.arena.withUnsafeBytes { arena in
            second.kind == .exact
                && KeyIndexer.rank(key.record, storage, arena).rawValue
                    < KeyIndexer.rank(earlier, storage, arena).rawValue
        }
        let order = isTriedLater ? "which is tried after this one" : "which is tried first"
        diagnostics.warning("this \(noun) is in \(file):\(first.line) too, \(order)\(normal)", at: key.span)
    }

    // MARK: The end

    /// Links the rules that are found by the same hash: by their rank first, then by their order.
    func finish(_ storage: inout MapStorage) {
        for (first, group) in groups {
            let arena = storage.arena
            let members = arena.withUnsafeBytes { bytes in
                group.members.map { (rank: KeyIndexer.rank($0, storage, bytes).rawValue, entry: $0) }
            }
            let ordered = (0...2).flatMap { rank in members.lazy.filter { $0.rank == rank }.map(\.entry) }
            for (head, following) in zip(ordered, ordered.dropFirst()) {
                var last = Int(head)
                while storage.records[last].next != RuleRecord.none { last = Int(storage.records[last].next) }
                storage.records[last].next = following
            }
            if let head = ordered.first, head != first {
                let hash = arena.withUnsafeBytes { ExactIndex.hash(storage.records[Int(first)], $0) }
                storage.exact.replace(first, by: head, hash: hash)
            }
        }
        storage.prefixes.finish()
    }
}
