public import Basics
public import Database
import Diagnostics
import HTTPSemantics

/// What all rules of a map that name a database say of it together.
public struct DatabasePlan: Sendable, Equatable {
    /// Where changes go: what a rule that allows them says.
    public var writes = DatabaseRule.Writes.off
    /// The files that make it where it does not exist, below ``seedRoot``.
    @ByBytes public var seeds: [String] = []
    @ByBytes public var seedRoot: String = ""
    /// The bytes that it may have in memory: the most that a rule allows.
    public var memory = 0
}

extension SubstitutionMap {
    /// Where the databases are that rules name: their paths without symbolic links above the root.
    public var databasePlaces: Set<ByBytes<String>> {
        Set(storage.databaseRecords.compactMap { storage.databasePlace($0).map { ByBytes($0) } })
    }

    /// Where a database is that a rule names.
    ///
    /// - Parameters:
    ///   - root: the root of the rule's map, as the map has it.
    ///   - path: the database's path below it.
    public func databasePlace(root: String, path: [UInt8]) -> String {
        let place = storage.files.first { $0.root.hasBytes(of: root) }?.place ?? root
        return place + "/" + String(decoding: path, as: UTF8.self)
    }

    /// What the rules that name a database say of it.
    public func databasePlan(at place: String) -> DatabasePlan {
        var plan = DatabasePlan()
        for record in storage.databaseRecords {
            guard storage.databasePlace(record)?.hasBytes(of: place) == true,
                let settings = storage.options[Int(record.options)].database
            else { continue }
            if plan.seeds.isEmpty, !settings.seeds.isEmpty {
                plan.seeds = settings.seeds
                plan.seedRoot = storage.files[Int(record.file)].root
            }
            if settings.rule.writes != .off { plan.writes = settings.rule.writes }
            plan.memory = max(plan.memory, settings.rule.limits.memory)
        }
        return plan
    }
}

extension MapStorage {
    /// The path of the database that a rule names; nil where it names none.
    func databasePath(_ record: RuleRecord) -> [UInt8]? {
        guard let settings = options[Int(record.options)].database else { return nil }
        if record.source.kind is SQLiteSource { return Array(arena[record.sourceRange]) }
        return settings.path
    }

    /// The same, with the folder that it is in.
    func databasePlace(_ record: RuleRecord) -> String? {
        databasePath(record).map { files[Int(record.file)].place + "/" + String(decoding: $0, as: UTF8.self) }
    }

    /// The path of the database that a rule with another source names; nil where it names none.
    func pathBesideSource(_ index: Int) -> String? {
        guard !(records[index].source.kind is SQLiteSource) else { return nil }
        return databasePath(records[index]).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The rules that may name a database.
    var databaseRecords: some Sequence<RuleRecord> {
        // Options say it in one comparison; a map has few of them.
        let isDatabase = options.map { $0.database != nil }
        return records.lazy.filter { isDatabase.contains(true) && isDatabase[Int($0.options)] }
    }
}

/// Finds rules that can't share the database that they name.
struct DatabaseConflicts {
    private struct Use {
        var writes: String
        /// With the folders that they are in.
        var seeds: [String]
        /// The rules that say so.
        var writesRule: RuleRecord
        var seedsRule: RuleRecord
    }

    private var uses: [ByBytes<String>: Use] = [:]

    /// Reports conflicts of the rules of the file read last.
    ///
    /// - Parameter keys: the file's keys, with their places.
    mutating func check(
        _ storage: MapStorage, from start: Int, _ keys: some BidirectionalCollection<MapBuilder.Key>,
        _ found: FileDiagnostics
    ) {
        for index in start..<storage.records.count {
            let record = storage.records[index]
            guard !record.isSecondScheme, let settings = storage.options[Int(record.options)].database else { continue }
            guard let path = storage.databasePath(record) else { continue }
            let name = String(decoding: path, as: UTF8.self)
            let file = storage.files[Int(record.file)]
            let place = ByBytes(file.place + "/" + name)
            let writes = settings.rule.writes.rawValue
            let seeds = settings.seeds.map { file.place + "/" + $0 }
            let span = keys.last { Int($0.record) <= index }?.span
            let methods = storage.options[Int(record.options)].methods
            if settings.rule.statement?.isWrite == true,
                methods.contains(RequestMethod(.get)) || methods.contains(RequestMethod(.head))
            {
                found.error(
                    "this statement writes: 'methods' names those that it answers, without GET and HEAD",
                    at: span ?? TextSpan(at: .start))
            }
            if settings.rule.statement?.isWrite == true, writes == "off" {
                found.error("'writes' is off, and this statement writes", at: span ?? TextSpan(at: .start))
            }
            guard var other = uses[place] else {
                uses[place] = Use(writes: writes, seeds: seeds, writesRule: record, seedsRule: record)
                continue
            }
            func position(_ rule: RuleRecord) -> String {
                rule.file == record.file ? "line \(rule.line)" : "\(storage.files[Int(rule.file)].name):\(rule.line)"
            }
            if writes != "off", other.writes != "off", writes != other.writes {
                found.error(
                    "\(name) has 'writes: \(other.writes)' in \(position(other.writesRule))",
                    at: span ?? TextSpan(at: .start))
            }
            if !seeds.isEmpty, !other.seeds.isEmpty, !seeds.hasBytes(of: other.seeds) {
                found.error(
                    "\(name) has other seeds in \(position(other.seedsRule))", at: span ?? TextSpan(at: .start))
            }
            if other.writes == "off" { (other.writes, other.writesRule) = (writes, record) }
            if other.seeds.isEmpty { (other.seeds, other.seedsRule) = (seeds, record) }
            uses[place] = other
        }
    }
}
