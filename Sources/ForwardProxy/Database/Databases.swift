import Basics
import Database
import Files
import HTTPSemantics
import Substitution
import Synchronization

/// The databases that the maps of this process have named, each opened at its first request.
///
/// They outlive a reload of the map, with what they have in memory.
final class Databases: Sendable {
    private struct Key: Hashable {
        @ByBytes var root: String
        let path: [UInt8]
    }

    private struct Opened {
        var byPlace: [ByBytes<String>: (database: Database, plan: DatabasePlan)] = [:]
        /// The same, by what rules call them: the map in force says which place a name is.
        var byName: [Key: Database] = [:]
        /// The map in force; nil as long as there was only one.
        var map: SubstitutionMap?
        /// Those that the map in force doesn't name, or says something else of, for event loops that still have the one
        /// before.
        var leaving: [ByBytes<String>: (database: Database, plan: DatabasePlan)] = [:]
    }

    private let opened = Mutex(Opened())
    private let resets = Atomic<Int>(0)
    /// Bytes of answers that are kept, and how many there may be.
    let kept: KeptBytes

    /// Answers that one event loop has made, for the others; nil where there is one loop.
    let shared: SharedAnswers?

    /// - Parameters:
    ///   - memory: bytes of answers that are kept at most.
    ///   - loops: how many event loops there are.
    init(memory: Int, loops: Int) {
        kept = KeptBytes(limit: memory)
        shared = loops > 1 ? SharedAnswers() : nil
    }

    /// The database of a rule.
    ///
    /// A request that began before a reload gets it only where the map in force says the same of it: else what that map
    /// says would not hold. Otherwise it gets one that is closed, whose answer is to ask again.
    func database(_ call: DatabaseCall, in folder: FolderRoot, _ map: SubstitutionMap) -> Database {
        let key = Key(root: call.root, path: call.path)
        return opened.withLock { opened in
            let isInForce = opened.map.map { $0 === map } ?? true
            if isInForce, let found = opened.byName[key] { return found }
            let place = map.databasePlace(root: call.root, path: call.path)
            let plan = map.databasePlan(at: place)
            if let found = opened.byPlace[ByBytes(place)], found.plan == plan {
                if isInForce { opened.byName[key] = found.database }
                return found.database
            }
            if !isInForce, let found = opened.leaving[ByBytes(place)], found.plan == plan { return found.database }
            let file = FolderDatabaseFile(folder: folder, relativePath: call.path)
            let seeds =
                plan.seeds.isEmpty
                ? nil : SeedSource(FolderSeeds(folder: FolderRoot(path: plan.seedRoot), paths: plan.seeds))
            let database = Database(
                file, seeds: seeds, writes: plan.writes, memoryLimit: plan.memory, entityTag: { ContentTag.make($0) })
            if let current = opened.map, !isInForce,
                !current.databasePlaces.contains(ByBytes(place)) || current.databasePlan(at: place) != plan
            {
                database.close()
                return database
            }
            opened.byPlace[ByBytes(place)] = (database, plan)
            if isInForce { opened.byName[key] = database }
            return database
        }
    }

    /// Drops what is in memory, of all databases.
    ///
    /// - Parameter completion: called when no request gets the old data any more, on any thread.
    func reset(_ completion: @escaping @Sendable () -> Void) {
        let databases = opened.withLock { $0.byPlace.values.map(\.database) }
        guard !databases.isEmpty else { return completion() }
        let counter = CountDown(databases.count) { [self] in
            resets.add(1, ordering: .releasing)
            completion()
        }
        for database in databases { database.reset { counter.countDown() } }
    }

    /// How many resets are done: where it is another number than when rows were asked for, they may be old.
    var resetCount: Int { resets.load(ordering: .acquiring) }

    /// Puts a map in force: requests by it get no database of which the one before said something else.
    func adopt(_ map: SubstitutionMap) {
        let named = map.databasePlaces
        opened.withLock { opened in
            opened.map = map
            opened.byName = [:]
            for (place, found) in opened.byPlace
            where !named.contains(place) || map.databasePlan(at: place.wrappedValue) != found.plan {
                opened.byPlace[place] = nil
                opened.leaving[place] = found
            }
        }
    }

    /// Closes those that no request is to begin with any more, since every event loop has the map in force.
    func closeLeaving() {
        let leaving = opened.withLock { opened -> [Database] in
            defer { opened.leaving = [:] }
            return opened.leaving.values.map(\.database)
        }
        for database in leaving { database.close() }
    }

    /// Closes all of them, and waits for that: at most a second for each, where a statement goes on.
    func close() {
        let all = opened.withLock { opened -> [Database] in
            defer { opened = Opened() }
            return opened.byPlace.values.map(\.database) + opened.leaving.values.map(\.database)
        }
        for database in all { database.close() }
        for database in all { database.waitForEnd(limit: 1_000_000_000) }
    }
}

/// Calls something when the last of several has happened.
final class CountDown: Sendable {
    private let left: Mutex<Int>
    private let completion: @Sendable () -> Void

    init(_ count: Int, _ completion: @escaping @Sendable () -> Void) {
        left = Mutex(count)
        self.completion = completion
    }

    func countDown() {
        let isLast = left.withLock { left -> Bool in
            left -= 1
            return left == 0
        }
        if isLast { completion() }
    }
}

/// Bytes of answers that event loops keep, counted together.
final class KeptBytes: Sendable {
    private let used = Atomic<Int>(0)
    private let entries = Atomic<Int>(0)
    private let limit: Int

    /// What an entry is counted for beside its body: fields, tables.
    static let entryCost = 2048

    init(limit: Int) { self.limit = limit }

    /// How many answers are kept.
    var count: Int { entries.load(ordering: .relaxed) }

    /// Takes room for an answer; nil where there is none.
    func reserve(_ count: Int) -> Reservation? {
        let cost = count + KeptBytes.entryCost
        let now = used.add(cost, ordering: .relaxed).newValue
        guard now <= limit else {
            used.subtract(cost, ordering: .relaxed)
            return nil
        }
        return Reservation(self, cost)
    }

    /// Room that an answer takes for as long as it lives.
    final class Reservation: Sendable {
        private let owner: KeptBytes
        private let cost: Int

        init(_ owner: KeptBytes, _ cost: Int) {
            self.owner = owner
            self.cost = cost
            owner.entries.add(1, ordering: .relaxed)
        }

        deinit {
            owner.used.subtract(cost, ordering: .relaxed)
            owner.entries.subtract(1, ordering: .relaxed)
        }
    }
}
