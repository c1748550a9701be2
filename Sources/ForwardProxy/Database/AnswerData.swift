import Database
import NIOPosix
import Synchronization

/// Something that an answer is made from, in the state that it was in.
struct DataState: Sendable {
    let version: DataVersion
    let number: UInt64
    /// Looks whether it is still so, and calls what it is given.
    let check: @Sendable (@escaping @Sendable (Bool) -> Void) -> Void

    init(_ database: Database, _ number: UInt64) {
        version = database.version
        self.number = number
        check = { completion in database.check(completion) }
    }

    /// - Parameter loop: whose pool looks at files.
    init(_ template: TemplateFile, _ number: UInt64, _ loop: LoopContext) {
        version = template.version
        self.number = number
        let pool = loop.proxy.filePool
        check = { completion in
            pool.submit { _ in
                template.check()
                completion(true)
            }
        }
    }

    var isCurrent: Bool { version.current == number }

    /// How long ago it was seen to be so, in nanoseconds; nil where it isn't.
    func age(_ now: UInt64) -> UInt64? {
        guard isCurrent else { return nil }
        let checkedAt = version.checkedAt
        return checkedAt >= now ? 0 : now &- checkedAt
    }
}

/// What an answer is made from, which it holds as long as.
final class AnswerData: Sendable {
    private let states: [DataState]
    private let room: KeptBytes.Reservation
    /// The answer as other loops find it, for as long as this one is kept.
    private let shared: SharedAnswer?

    init(_ states: [DataState], room: KeptBytes.Reservation, shared: SharedAnswer? = nil) {
        self.states = states
        self.room = room
        self.shared = shared
    }

    /// Whether all of it is still so, as far as is known.
    var isCurrent: Bool { states.allSatisfy(\.isCurrent) }

    func isFresh(_ now: UInt64) -> Bool { age(now).map { $0 < ReadyAnswer.freshFor } ?? false }

    func wantsRefresh(_ now: UInt64) -> Bool { age(now).map { $0 > ReadyAnswer.refreshAfter } ?? false }

    /// Looks whether all of it is still so, and tells on any thread whether it was looked.
    func check(_ completion: @escaping @Sendable (Bool) -> Void) {
        let failure = Failure()
        let counter = CountDown(states.count) { completion(!failure.hasHappened) }
        for state in states {
            state.check { hasLooked in
                if !hasLooked { failure.happen() }
                counter.countDown()
            }
        }
    }

    /// The age of the look that was longest ago; nil where something has changed.
    private func age(_ now: UInt64) -> UInt64? {
        var oldest: UInt64 = 0
        for state in states {
            guard let age = state.age(now) else { return nil }
            oldest = max(oldest, age)
        }
        return oldest
    }
}

/// Whether one of several things has failed.
private final class Failure: Sendable {
    private let flag = Atomic<Bool>(false)
    var hasHappened: Bool { flag.load(ordering: .acquiring) }
    func happen() { flag.store(true, ordering: .releasing) }
}
