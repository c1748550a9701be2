import Diagnostics
import Patterns

/// Puts the keys of the files into the map's indexes, and finds those that come twice.
///
/// Within a file a key that comes twice is an error. Over several files the rules of the file that comes first are
/// tried first, which a warning says.
struct KeyIndexer {
    /// The keys found by the same hash of an exact URL, where there are several, by the first of them.
    private var groups: [UInt32: [UInt32]] = [:]
    /// The URLs with a query of their own among those that are found by their path.
    private var queries = IndexTable()
    /// The patterns and expressions by their text.
    private var texts: [String: UInt32] = [:]
    /// The place reported last, since a `//` key is looked up twice.
    private var reported: TextMark?

    // MARK: One file

    /// Indexes the keys of the file that was read last.
    mutating func index(
        _ keys: ContiguousArray<MapBuilder.Key>, _ storage: inout MapStorage, _ diagnostics: FileDiagnostics
    ) {
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

    /// Adds a key; the first rule of the same key if there is one already.
    private mutating func index(
        _ key: MapBuilder.Key, _ storage: inout MapStorage, _ arena: UnsafeRawBufferPointer,
        _ records: UnsafeBufferPointer<RuleRecord>
    ) -> UInt32? {
        let record = records[Int(key.record)]
        guard record.kind != .expression else { return indexText(key.record, storage) }
        storage.authorities.insert(record.keyRange, arena: arena)
        switch record.kind {
        case .exact: return indexExact(key.record, &storage, arena, records)
        case .folder:
            return storage.prefixes.insert(
                record: key.record, key: record.keyRange, rank: record.keyRange.count,
                pattern: PrefixIndex.Candidate.noPattern, arena: arena)
        default:
            let pattern = storage.patterns[Int(key.compiled)].pattern
            let start = record.keyRange.lowerBound
            let text = UnsafeRawBufferPointer(rebasing: arena[record.keyRange])
            // A path without a star goes on in the query, whose first star ends the prefix then.
            let rank = text.firstIndex(of: UInt8(ascii: "*")) ?? text.count
            storage.prefixes.insert(
                record: key.record, key: start..<start + pattern.literalPrefix.count, rank: rank,
                pattern: key.compiled, arena: arena)
            return indexText(key.record, storage)
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
    /// another condition for the query than that it be the same.
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
        storage.records[Int(key.record)].isFoundByPath = conditions != [.exact]
        if conditions.contains(.ignore), !head.isSecondScheme {
            diagnostics.warning("the query of this URL takes no part, because of 'query: ignore'", at: key.span)
        }
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

    /// Whether the parameters of a key take part: it has some, and not all of its rules ignore them.
    private static func hasQuery(_ head: UInt32, _ storage: MapStorage, _ arena: UnsafeRawBufferPointer) -> Bool {
        let record = storage.records[Int(head)]
        guard record.isFoundByPath else { return true }
        let key = UnsafeRawBufferPointer(rebasing: arena[record.keyRange])
        let pathEnd = URLText.pathEnd(key)
        guard pathEnd < key.count, QueryParameters(of: key, pathEnd: pathEnd).count() > 0 else { return false }
        return queryConditions(head, storage) != [.ignore]
    }

    private mutating func indexExact(
        _ entry: UInt32, _ storage: inout MapStorage, _ arena: UnsafeRawBufferPointer,
        _ records: UnsafeBufferPointer<RuleRecord>
    ) -> UInt32? {
        let record = records[Int(entry)]
        let key = UnsafeRawBufferPointer(rebasing: arena[record.keyRange])
        let pathEnd = URLText.pathEnd(key)
        let pathHash = URLHash.of(UnsafeRawBufferPointer(rebasing: key[0..<pathEnd]))
        guard KeyIndexer.hasQuery(entry, storage, arena) else {
            let first = storage.exact.first(path: pathHash, key, pathEnd: pathEnd, arena: arena, records: records)
            guard let first else {
                storage.exact.insert(entry, hash: pathHash, arena: arena, records: records)
                return nil
            }
            let earlier = groups[first, default: [first]].first { !KeyIndexer.hasQuery($0, storage, arena) }
            groups[first, default: [first]].append(entry)
            return earlier
        }
        let hash = QueryParameters(of: key, pathEnd: pathEnd).combined(with: pathHash)
        let exact = storage.exact.first(parameters: hash, key, pathEnd: pathEnd, arena: arena, records: records)
        let other = queries.first(hash) { candidate in
            let text = UnsafeRawBufferPointer(rebasing: arena[records[Int(candidate)].keyRange])
            return ExactIndex.key(
                records[Int(candidate)], arena, hasPath: UnsafeRawBufferPointer(rebasing: key[0..<pathEnd]))
                && QueryParameters(of: key, pathEnd: pathEnd)
                    .isPermutation(of: QueryParameters(of: text, pathEnd: pathEnd))
        }
        if record.isFoundByPath {
            queries.insert(entry, hash: hash) { candidate in
                let text = UnsafeRawBufferPointer(rebasing: arena[records[Int(candidate)].keyRange])
                let end = URLText.pathEnd(text)
                return QueryParameters(of: text, pathEnd: end)
                    .combined(with: URLHash.of(UnsafeRawBufferPointer(rebasing: text[0..<end])))
            }
            if let first = storage.exact.first(
                path: pathHash, key, pathEnd: pathEnd, arena: arena, records: records)
            {
                groups[first, default: [first]].append(entry)
            } else {
                storage.exact.insert(entry, hash: pathHash, arena: arena, records: records)
            }
        } else if let exact {
            groups[exact, default: [exact]].append(entry)
        } else {
            storage.exact.insert(entry, hash: hash, arena: arena, records: records)
        }
        return exact ?? other
    }

    // MARK: Keys that come twice

    private mutating func report(
        _ earlier: UInt32, _ key: MapBuilder.Key, _ storage: MapStorage, _ diagnostics: FileDiagnostics
    ) {
        guard reported != key.span.start else { return }
        reported = key.span.start
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
        diagnostics.warning(
            "this \(noun) is in \(file):\(first.line) too, which is tried first\(normal)", at: key.span)
    }

    // MARK: The end

    /// Links the rules that are found by the same hash: those with a query of their own first, then by their order.
    func finish(_ storage: inout MapStorage) {
        for (first, members) in groups {
            let arena = storage.arena
            let (specific, general) = arena.withUnsafeBytes { bytes in
                (
                    members.filter { KeyIndexer.hasQuery($0, storage, bytes) },
                    members.filter { !KeyIndexer.hasQuery($0, storage, bytes) }
                )
            }
            let ordered = specific + general
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
