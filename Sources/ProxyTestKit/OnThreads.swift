import Glibc
import Synchronization
public import Testing

/// Runs each test on a thread of its own instead of on the few of the cooperative pool, which tests that wait for
/// sockets and processes would block.
///
/// As many run at once as keep the processors busy: where all of two hundred begin at once, each with processes of its
/// own, none of them gets far within the time that others wait for it.
public struct OnThreads: TestTrait, SuiteTrait, TestScoping {
    fileprivate let turns: TestTurns

    /// Suites give it to their tests.
    public var isRecursive: Bool { true }

    /// Runs a test's function.
    ///
    /// - Throws: What the test throws.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(ThreadExecutor.shared) {
            await turns.begin()
            defer { turns.end() }
            try await function()
        }
    }
}

/// Lets so many tests run at once, and the others wait, first come, first served.
final class TestTurns: Sendable {
    // No more than that: each has a program that watches files, and a user has 128 instances of inotify.
    static let shared = TestTurns(min(64, 4 * max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN)))))
    /// For tests that start browsers, each of which has many processes. They don't wait for the others' turns.
    static let browsers = TestTurns(max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN))))

    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(free: count)) }

    func begin() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func end() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}

extension Trait where Self == OnThreads {
    /// Runs each test on a thread of its own.
    public static var onThreads: OnThreads { OnThreads(turns: .shared) }

    /// Runs each test on a thread of its own, beside others, but as many with browsers at once as there are processors.
    public static var withBrowsers: OnThreads { OnThreads(turns: .browsers) }
}

/// Runs each job on a new thread.
final class ThreadExecutor: TaskExecutor {
    static let shared = ThreadExecutor()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Threads.start { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Performs `body` so many times at once, each time on a thread of its own, and returns the results in order.
///
/// - Throws: What one of them throws.
public func atOnce<Result: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) throws -> Result
) async throws -> [Result] {
    try await withThrowingTaskGroup(of: (Int, Result).self) { group in
        for index in 0..<count {
            group.addTask(executorPreference: ThreadExecutor.shared) { (index, try body(index)) }
        }
        var results: [Int: Result] = [:]
        for try await (index, result) in group { results[index] = result }
        return results.sorted { $0.key < $1.key }.map(\.value)
    }
}
