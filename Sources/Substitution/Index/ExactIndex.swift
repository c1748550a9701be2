import HTTPSemantics

/// Finds the rules of exact URLs.
///
/// A rule whose `query` is `exact` is found by the hash of its path and of its parameters, in any order; every other
/// rule, and one without parameters, by the hash of its path. So a URL costs one hash, and one more if it has a query,
/// whatever the number of rules.
struct ExactIndex: Sendable {
    private(set) var table = IndexTable()
    /// Whether there is a rule that is found by its parameters.
    private(set) var hasParameters = false

    /// The first rule that is found by this path, the part of `url` before `pathEnd`.
    @inline(__always)
    func first(
        path hash: UInt64, _ url: UnsafeRawBufferPointer, pathEnd: Int, arena: UnsafeRawBufferPointer,
        records: UnsafeBufferPointer<RuleRecord>
    ) -> UInt32? {
        let path = UnsafeRawBufferPointer(rebasing: url[0..<pathEnd])
        return table.first(hash) { entry in
            let record = records[Int(entry)]
            return record.isFoundByPath && ExactIndex.key(record, arena, hasPath: path)
        }
    }

    /// The first rule that is found by this path and these parameters.
    @inline(__always)
    func first(
        parameters hash: UInt64, _ url: UnsafeRawBufferPointer, pathEnd: Int, arena: UnsafeRawBufferPointer,
        records: UnsafeBufferPointer<RuleRecord>
    ) -> UInt32? {
        let path = UnsafeRawBufferPointer(rebasing: url[0..<pathEnd])
        return table.first(hash) { entry in
            let record = records[Int(entry)]
            guard !record.isFoundByPath, ExactIndex.key(record, arena, hasPath: path) else { return false }
            let key = UnsafeRawBufferPointer(rebasing: arena[record.keyRange])
            return QueryParameters(of: url, pathEnd: pathEnd)
                .isPermutation(of: QueryParameters(of: key, pathEnd: pathEnd))
        }
    }

    /// Whether the path of a rule's key is this one.
    @inline(__always)
    static func key(
        _ record: RuleRecord, _ arena: UnsafeRawBufferPointer, hasPath path: UnsafeRawBufferPointer
    ) -> Bool {
        let key = UnsafeRawBufferPointer(rebasing: arena[record.keyRange])
        return URLText.hasPrefix(key, path)
            && (key.count == path.count || key[path.count] == UInt8(ascii: "?"))
    }

    /// Adds a rule that no other is found by.
    mutating func insert(
        _ entry: UInt32, hash: UInt64, arena: UnsafeRawBufferPointer, records: UnsafeBufferPointer<RuleRecord>
    ) {
        if !records[Int(entry)].isFoundByPath { hasParameters = true }
        table.insert(entry, hash: hash) { ExactIndex.hash(records[Int($0)], arena) }
    }

    /// Makes room for so many rules in all.
    mutating func reserve(_ total: Int, arena: UnsafeRawBufferPointer, records: UnsafeBufferPointer<RuleRecord>) {
        table.reserve(total) { ExactIndex.hash(records[Int($0)], arena) }
    }

    /// Puts a rule in the place of another that is found by the same hash.
    mutating func replace(_ entry: UInt32, by other: UInt32, hash: UInt64) {
        table.replace(entry, by: other, hash: hash)
    }

    /// The hash that a rule is found by.
    static func hash(_ record: RuleRecord, _ arena: UnsafeRawBufferPointer) -> UInt64 {
        let key = UnsafeRawBufferPointer(rebasing: arena[record.keyRange])
        let pathEnd = URLText.pathEnd(key)
        let hash = URLHash.of(UnsafeRawBufferPointer(rebasing: key[0..<pathEnd]))
        return record.isFoundByPath ? hash : QueryParameters(of: key, pathEnd: pathEnd).combined(with: hash)
    }
}
