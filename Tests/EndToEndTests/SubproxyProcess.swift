import Dispatch
@preconcurrency import Glibc
import ProxyTestKit
import Synchronization

/// The built program as a child process, as its users start it.
///
/// Each is killed after a time, so that a test that waits for its output or its end never hangs.
final class SubproxyProcess {
    /// What became of a program that has ended.
    struct Finished {
        /// The exit status; 128 and the number of the signal that ended it.
        var status: Int32
        var output: String
        var error: String

        /// The lines of standard error.
        var errorLines: [Substring] { error.split(separator: "\n") }
    }

    /// The program that was built together with the tests.
    static let path: String = {
        let bundle = (try? resolvedLink("/proc/self/exe")) ?? ""
        let argument = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
        let candidates = [argument, bundle, CommandLine.arguments.first]
            .compactMap { $0 }
            .map { folder(of: $0) + "/subproxy" }
        return candidates.first { access($0, X_OK) == 0 } ?? ".build/debug/subproxy"
    }()

    let identifier: pid_t
    private let output: CInt
    private let error: CInt
    private var errorBuffer: [UInt8] = []
    private var status: Int32?
    private let deadline: DispatchWorkItem

    /// Starts the program, or another one.
    ///
    /// - Parameters:
    ///   - environment: set over this process's.
    ///   - folder: the working directory.
    ///   - seconds: after which it is killed.
    init(
        _ arguments: [String], program: String = SubproxyProcess.path, environment: [String: String] = [:],
        folder: String? = nil, seconds: Int = 120
    ) throws {
        let words = (folder.map { ["env", "-C", $0] } ?? []) + [program] + arguments
        let (outputEnd, outputWriter) = try SubproxyProcess.makePipe()
        let (errorEnd, errorWriter) = try SubproxyProcess.makePipe()
        defer {
            close(outputWriter)
            close(errorWriter)
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, outputWriter, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errorWriter, STDERR_FILENO)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        let argumentTexts = words.map { strdup($0) }
        let variables = SubproxyProcess.variables(environment).map { strdup($0) }
        defer { for text in argumentTexts + variables { free(text) } }
        var identifier = pid_t()
        let code = SubproxyProcess.spawning.withLock { _ in
            posix_spawnp(&identifier, words[0], &actions, &attributes, argumentTexts + [nil], variables + [nil])
        }
        guard code == 0 else { throw SystemCallError(code: code) }
        self.identifier = identifier
        output = outputEnd
        error = errorEnd
        let process = identifier
        deadline = DispatchWorkItem { kill(process, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds), execute: deadline)
    }

    deinit {
        deadline.cancel()
        if status == nil {
            kill(identifier, SIGKILL)
            wait()
        }
        close(output)
        close(error)
    }

    /// Runs the program to its end.
    static func run(
        _ arguments: [String], program: String = SubproxyProcess.path, environment: [String: String] = [:],
        folder: String? = nil
    ) throws -> Finished {
        try SubproxyProcess(arguments, program: program, environment: environment, folder: folder).finish()
    }

    func send(_ signal: Int32) { kill(identifier, signal) }

    /// Waits for the end.
    func finish() -> Finished {
        // Little enough is printed that the one pipe does not fill while the other is read.
        let outputText = SubproxyProcess.readAll(output)
        let errorText = errorBuffer + SubproxyProcess.readAll(error)
        errorBuffer = []
        wait()
        return Finished(
            status: status ?? -1, output: String(decoding: outputText, as: UTF8.self),
            error: String(decoding: errorText, as: UTF8.self))
    }

    /// The next line of standard error; nil at its end.
    func errorLine() -> String? {
        while true {
            if let end = errorBuffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { errorBuffer.removeSubrange(...end) }
                return String(decoding: errorBuffer[..<end], as: UTF8.self)
            }
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = read(error, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            errorBuffer += chunk[..<count]
        }
    }

    /// The next line of standard error that contains a text; nil if none comes.
    func errorLine(containing text: String) -> String? {
        while let line = errorLine() {
            if line.contains(text) { return line }
        }
        return nil
    }

    private func wait() {
        guard status == nil else { return }
        deadline.cancel()
        var result: CInt = 0
        while waitpid(identifier, &result, 0) < 0, errno == EINTR {}
        status = result & 0x7f == 0 ? (result >> 8) & 0xff : 128 + (result & 0x7f)
    }

    // MARK: System calls

    private static let spawning = Mutex(())

    private static func makePipe() throws -> (reader: CInt, writer: CInt) {
        var ends: [CInt] = [0, 0]
        // Under the lock, since a program that another test starts in between would keep the pipe open.
        try spawning.withLock { _ in
            guard pipe(&ends) == 0 else { throw SystemCallError(code: errno) }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        }
        return (ends[0], ends[1])
    }

    private static func readAll(_ descriptor: CInt) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
    }

    private static func variables(_ added: [String: String]) -> [String] {
        var variables: [String] = []
        var next = environ
        while let variable = next.pointee {
            let text = String(cString: variable)
            let name = text.prefix { $0 != "=" }
            if added[String(name)] == nil, name != "NOTIFY_SOCKET" { variables.append(text) }
            next += 1
        }
        return variables + added.map { "\($0)=\($1)" }
    }
}

/// A TCP socket that listens on a free port of 127.0.0.1 and accepts nothing.
final class ListeningSocket {
    let port: UInt16
    private let descriptor: CInt

    init() throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr = in_addr(s_addr: in_addr_t(0x7f00_0001).bigEndian)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, size) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, pointer, &size) == 0
            }
        }
        guard result else { throw SystemCallError(code: errno) }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }

    /// Waits until somebody has connected; -1 if nobody does.
    func accept() -> CInt { Glibc.accept(descriptor, nil, nil) }
}

/// The folder that a path's last component is in.
func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return String(path[..<slash])
}

/// Where a symbolic link leads, in its own words.
func resolvedLink(_ path: String) throws -> String {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink(path, &buffer, buffer.count)
    guard count >= 0 else { throw SystemCallError(code: errno) }
    return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
