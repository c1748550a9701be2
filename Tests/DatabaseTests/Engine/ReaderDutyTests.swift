import Testing

@testable import Database

@Suite("Which of the threads that read are called")
struct ReaderDutyTests {
    private static let start: UInt64 = 1_000_000_000

    /// The duty of some threads, changed in place.
    private final class Threads {
        private var duty = ReaderDuty()
        var count: Int { duty.count }
        var asleep: Int { duty.asleep }

        func arrived(waiting: Int, at now: UInt64) -> ReaderDuty.Call { duty.arrived(waiting: waiting, at: now) }
        func help(at now: UInt64) -> ReaderDuty.Call { duty.help(at: now) }
        func took(at now: UInt64) { duty.took(at: now) }
        func sleeps() { duty.sleeps() }
        func wasCalled() -> Bool { duty.wasCalled() }
        func isHeldUp(_ value: Bool) { duty.isHeldUp(value) }
        func left() { duty.left() }
        var mayRead: Bool { duty.mayRead }
        func ended() { duty.ended() }
        func lookArrived(at now: UInt64) -> ReaderDuty.Call { duty.arrived(waiting: 1, looks: true, at: now) }
    }

    /// As many threads as are given, all of them asleep.
    private func rested(_ count: Int) -> Threads {
        let duty = Threads()
        for _ in 0..<count {
            #expect(duty.help(at: 0) == .start)
        }
        for _ in 0..<count { duty.sleeps() }
        return duty
    }

    @Test("The first query starts a thread, and those beside it wait for that one")
    func first() {
        let duty = Threads()
        #expect(duty.arrived(waiting: 1, at: Self.start) == .start)
        for waiting in 2...ReaderDuty.patience {
            #expect(duty.arrived(waiting: waiting, at: Self.start + 1000) == .nothing)
        }
        #expect(duty.count == 1)
    }

    @Test("Where all are asleep one is woken, and where one is awake none")
    func waking() {
        let duty = rested(3)
        #expect(duty.arrived(waiting: 1, at: Self.start) == .wake)
        #expect(duty.arrived(waiting: 2, at: Self.start + 10) == .nothing)
        #expect(duty.wasCalled())
        duty.took(at: Self.start + 20)
        #expect(duty.arrived(waiting: 2, at: Self.start + 30) == .nothing)
        duty.sleeps()
        #expect(duty.arrived(waiting: 1, at: Self.start + 40) == .wake)
        #expect(duty.asleep == 2)
    }

    @Test("Another is called where the one that is awake has not come back for long, or too many wait")
    func heldUp() {
        let duty = rested(2)
        #expect(duty.arrived(waiting: 1, at: Self.start) == .wake)
        duty.took(at: Self.start)
        #expect(duty.arrived(waiting: 1, at: Self.start + ReaderDuty.longTime - 1) == .nothing)
        #expect(duty.arrived(waiting: 2, at: Self.start + ReaderDuty.longTime) == .wake)
        duty.took(at: Self.start + ReaderDuty.longTime)
        #expect(duty.arrived(waiting: ReaderDuty.patience + 1, at: Self.start + ReaderDuty.longTime) == .start)
    }

    @Test("A thread that says that its query takes long is no one to wait for")
    func longQuery() {
        let duty = rested(3)
        #expect(duty.arrived(waiting: 1, at: Self.start) == .wake)
        duty.took(at: Self.start)
        duty.isHeldUp(true)
        #expect(duty.arrived(waiting: 1, at: Self.start + 10) == .wake)
        duty.took(at: Self.start + 20)
        #expect(duty.arrived(waiting: 1, at: Self.start + 30) == .nothing)
        duty.sleeps()
        // The one that was called is asleep again, the other still at its query.
        #expect(duty.arrived(waiting: 1, at: Self.start + 40) == .wake)
        duty.isHeldUp(false)
        #expect(duty.arrived(waiting: 1, at: Self.start + 50) == .nothing)
    }

    @Test("There are no more threads than the most, whatever waits")
    func most() {
        let duty = Threads()
        for _ in 0..<ReaderDuty.maximumCount { #expect(duty.help(at: Self.start) == .start) }
        #expect(duty.help(at: Self.start) == .nothing)
        #expect(duty.arrived(waiting: 200, at: Self.start) == .nothing)
        duty.left()
        #expect(duty.help(at: Self.start) == .start)
    }

    @Test("While all are at queries one more is called for a look, and for nothing else")
    func look() {
        let duty = Threads()
        for _ in 0..<ReaderDuty.maximumCount {
            #expect(duty.mayRead)
            #expect(duty.help(at: Self.start) == .start)
            duty.took(at: Self.start)
        }
        #expect(!duty.mayRead)
        for _ in 0..<ReaderDuty.maximumCount { duty.isHeldUp(true) }
        #expect(duty.arrived(waiting: 1, at: Self.start + 10) == .nothing)
        #expect(duty.lookArrived(at: Self.start + 20) == .start)
        // That one is on its way.
        #expect(duty.lookArrived(at: Self.start + 30) == .nothing)
        duty.sleeps()
        #expect(duty.arrived(waiting: 1, at: Self.start + 40) == .nothing)
        #expect(duty.lookArrived(at: Self.start + 50) == .wake)
        duty.sleeps()
        duty.ended()
        #expect(duty.mayRead)
        #expect(duty.arrived(waiting: 1, at: Self.start + ReaderDuty.longTime * 2) == .wake)
    }

    @Test("A thread that wakes up without a call goes on waiting")
    func uncalled() {
        let duty = rested(2)
        #expect(!duty.wasCalled())
        #expect(duty.help(at: Self.start) == .wake)
        #expect(duty.wasCalled())
        #expect(!duty.wasCalled())
    }
}
