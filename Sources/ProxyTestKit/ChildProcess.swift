public import Glibc
import Synchronization

/// A program under test, or a client of it, as a child process whose output is gathered while it runs.
///
/// Every wait has a bound, and the process is killed and reaped with the object.
public final class ChildProcess: Sendable {
    private struct State {
        var output: Stream
        var error: Stream
        /// Nil while the process runs; once it is set, the process identifier may be another process's.
        var status: Int32?
    }

    /// One of the two streams that the process writes, with all that has been read of it.
    private struct Stream {
        /// Nil once it has ended.
        var descriptor: CInt?
        var bytes: [UInt8] = []

        /// Takes what is there to be read.
        mutating func read() {
            guard let descriptor else { return }
            var chunk = [UInt8](repeating: 0, count: 1 << 14)
            // A process that goes on writing must not keep a test that asks what it has written so far.
            for _ in 0..<256 {
                let count = recv(descriptor, &chunk, chunk.count, CInt(MSG_DONTWAIT))
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN { return }
                guard count > 0 else {
                    close(descriptor)
                    self.descriptor = nil
                    return
                }
                bytes += chunk[..<count]
            }
        }
    }

    public let identifier: pid_t
    private let name: String
    private let state: Mutex<State>

    /// Starts a program, found in PATH where its name has no slash.
    ///
    /// - Parameters:
    ///   - environment: set over this process's; an empty value removes a variable.
    ///   - descriptors: those that it gets as 3, 4 and so on.
    /// - Throws: ``Socket/Failure/failed(_:code:)`` where the program is not there, or can't be started.
    public init(_ arguments: [String], environment: [String: String] = [:], descriptors: [CInt] = []) throws {
        name = arguments.first ?? ""
        let output = try ChildProcess.makePipe()
        let error = try ChildProcess.makePipe()
        defer {
            close(output.writer)
            close(error.writer)
        }
        do {
            identifier = try ChildProcess.spawn(
                arguments, ChildProcess.variables(environment), [output.writer, error.writer] + descriptors)
        } catch let failure {
            close(output.reader)
            close(error.reader)
            throw failure
        }
        state = Mutex(State(output: Stream(descriptor: output.reader), error: Stream(descriptor: error.reader)))
        gather(output.reader, into: \.output)
        gather(error.reader, into: \.error)
    }

    deinit {
        if state.withLock({ $0.status }) == nil {
            kill(identifier, SIGKILL)
            var result: CInt = 0
            while waitpid(identifier, &result, 0) < 0, errno == EINTR {}
        }
        state.withLock { state in
            for descriptor in [state.output.descriptor, state.error.descriptor] {
                if let descriptor { close(descriptor) }
            }
        }
    }

    /// What has come on standard output so far: all that the process wrote before this is asked.
    public var output: String { String(decoding: outputBytes, as: UTF8.self) }

    /// What has come on standard error so far: all that the process wrote before this is asked.
    public var error: String {
        String(
            decoding: state.withLock { state in
                state.error.read()
                return state.error.bytes
            }, as: UTF8.self)
    }

    public var outputBytes: [UInt8] {
        state.withLock { state in
            state.output.read()
            return state.output.bytes
        }
    }

    public func send(_ signal: Int32) {
        state.withLock { if $0.status == nil { kill(identifier, signal) } }
    }

    /// Stops the process with SIGSTOP, and waits until each of its threads is stopped: a thread that runs when the
    /// signal is sent goes on for a moment.
    ///
    /// - Throws: ``Socket/Failure/timedOut`` if a thread goes on.
    public func suspend() throws {
        send(SIGSTOP)
        // One that has ended meanwhile is a zombie, or gone.
        try Wait.until { threadStates.allSatisfy { $0.hasPrefix("T") || $0.hasPrefix("Z") } }
    }

    /// The state of each of the process's threads, and what else stands behind the name in its stat (proc(5)).
    private var threadStates: [Substring] {
        let path = "/proc/\(identifier)/task"
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var states: [Substring] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard !name.hasPrefix(".") else { continue }
            let text = RunningBinary.contents(of: "\(path)/\(name)/stat")
            if let end = text.lastIndex(of: ")") { states.append(text[end...].dropFirst(2)) }
        }
        return states
    }

    /// The exit status if the process has ended: 128 and the number of the signal where one ended it.
    public var status: Int32? {
        state.withLock { state in
            guard state.status == nil else { return state.status }
            var result: CInt = 0
            guard waitpid(identifier, &result, WNOHANG) == identifier else { return nil }
            state.status = result & 0x7f == 0 ? (result >> 8) & 0xff : 128 + (result & 0x7f)
            return state.status
        }
    }

    /// Whether the process and its output have ended.
    public var hasEnded: Bool {
        status != nil && state.withLock { $0.output.descriptor == nil && $0.error.descriptor == nil }
    }

    /// Waits for the end of the process and of its output.
    ///
    /// - Throws: ``Unfinished`` where it does not end in time; the process goes on then.
    @discardableResult
    public func finish(seconds: Double = 2 * Wait.limit) throws -> Int32 {
        guard Wait.holds(within: seconds, { hasEnded }) else { throw Unfinished(name: name, error: error) }
        return status ?? -1
    }

    /// A process, or its output, has not ended in time.
    public struct Unfinished: Error {
        /// The first of its arguments.
        public var name: String
        /// What it has written to standard error.
        public var error: String
    }

    /// Runs a program to its end and returns what it printed.
    ///
    /// - Throws: ``Socket/Failure/failed(_:code:)`` where it can't be started, ``Unfinished`` where it does not end in
    ///   time.
    public static func run(
        _ arguments: [String], environment: [String: String] = [:], seconds: Double = 2 * Wait.limit
    ) throws -> ChildProcess {
        let process = try ChildProcess(arguments, environment: environment)
        try process.finish(seconds: seconds)
        return process
    }

    /// Reads a stream as the process writes it, so that it is never held up.
    private func gather(_ descriptor: CInt, into stream: any WritableKeyPath<State, Stream> & Sendable) {
        // A descriptor of the thread's own, since whoever sees the stream's end closes the other.
        let watched = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        Threads.start { [weak self] in
            defer { close(watched) }
            while true {
                var waits = pollfd(fd: watched, events: Int16(POLLIN), revents: 0)
                poll(&waits, 1, -1)
                guard let self else { return }
                let isOpen = self.state.withLock { state in
                    state[keyPath: stream].read()
                    return state[keyPath: stream].descriptor != nil
                }
                guard isOpen else { return }
            }
        }
    }

    // MARK: System calls

    private static func spawn(
        _ arguments: [String], _ variables: [String], _ descriptors: [CInt]
    ) throws -> pid_t {
        // Out of the way first, since one of them may have the number that another one is to get.
        let copies = descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, 100) }
        defer { for copy in copies { close(copy) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        for (number, copy) in zip(STDOUT_FILENO..., copies) {
            posix_spawn_file_actions_adddup2(&actions, copy, number)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let texts = arguments.map { strdup($0) }
        let settings = variables.map { strdup($0) }
        defer { for text in texts + settings { free(text) } }
        var identifier = pid_t()
        let code = posix_spawnp(
            &identifier, arguments.first ?? "", &actions, &attributes, texts + [nil], settings + [nil])
        guard code == 0 else { throw Socket.Failure.failed("posix_spawn \(arguments.first ?? "")", code: code) }
        return identifier
    }

    private static func makePipe() throws -> (reader: CInt, writer: CInt) {
        var ends: [CInt] = [0, 0]
        // A process that another thread starts at this moment must not keep the pipe open; pipe(2) has no flag for
        // that.
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Socket.Failure.failed("socketpair", code: errno)
        }
        return (ends[0], ends[1])
    }

    private static func variables(_ changes: [String: String]) -> [String] {
        var variables: [String] = []
        var next = environ
        while let variable = next.pointee {
            let text = String(cString: variable)
            if changes[String(text.prefix { $0 != "=" })] == nil { variables.append(text) }
            next += 1
        }
        return variables + changes.compactMap { $0.value.isEmpty ? nil : "\($0.key)=\($0.value)" }
    }
}
