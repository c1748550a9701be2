import Basics
import Glibc

/// A program of the system that is run to its end.
struct SystemTool: Sendable {
    /// How a run ended.
    struct Outcome: Sendable {
        /// The exit status; 128 and the number of the signal that ended it; -1 where it could not be started.
        var status: CInt
        /// What it printed on standard output and standard error.
        var output: [UInt8]

        var succeeded: Bool { status == 0 }

        var lines: [Substring] {
            String(decoding: output, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        }

        /// The last line that says anything, for a message.
        var complaint: String {
            let last = lines.last { line in line.contains { !$0.isWhitespace } }
            return last.map(String.init) ?? "it ended with status \(status)"
        }
    }

    private static let mostOutput = 16 << 20

    let path: String

    /// Runs the program without a standard input, its messages in the language of C. (posix_spawn(3))
    ///
    /// - Parameter seconds: after which it is killed.
    func run(_ arguments: [String], seconds: Int64 = 60) -> Outcome {
        var ends: [CInt] = [-1, -1]
        // pipe(2) has no flag for closing at exec.
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            return Outcome(status: -1, output: Array("no pipe: \(LocalFiles.text(errno))".utf8))
        }
        let reader = ends[0]
        defer { close(reader) }
        var process = pid_t()
        let code = spawn(arguments, writer: ends[1], &process)
        close(ends[1])
        guard code == 0 else {
            return Outcome(status: -1, output: Array("\(path) can't be started: \(LocalFiles.text(code))".utf8))
        }
        let output = gather(reader, process, until: SystemTool.seconds() + seconds)
        var result: CInt = 0
        while waitpid(process, &result, 0) < 0 {
            guard errno == EINTR else { return Outcome(status: -1, output: output) }
        }
        let signal = result & 0x7f
        return Outcome(status: signal == 0 ? (result >> 8) & 0xff : 128 + signal, output: output)
    }

    private func spawn(_ arguments: [String], writer: CInt, _ process: inout pid_t) -> CInt {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, writer, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, writer, STDERR_FILENO)

        // The other program does not inherit which signals this one ignores and blocks.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var usual = sigset_t()
        sigemptyset(&usual)
        sigaddset(&usual, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let words = ([path] + arguments).map { strdup($0) }
        var variables: [UnsafeMutablePointer<CChar>?] = [strdup("LC_ALL=C")]
        let added = words + variables
        defer { for text in added { free(text) } }
        var next = environ
        while let variable = next.pointee {
            if strncmp(variable, "LC_ALL=", 7) != 0 { variables.append(variable) }
            next += 1
        }
        return posix_spawn(&process, path, &actions, &attributes, words + [nil], variables + [nil])
    }

    private func gather(_ reader: CInt, _ process: pid_t, until deadline: Int64) -> [UInt8] {
        var output: [UInt8] = []
        while true {
            var entry = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
            let left = deadline - SystemTool.seconds()
            let ready = left > 0 ? poll(&entry, 1, CInt(clamping: left * 1000)) : 0
            if ready < 0, errno == EINTR { continue }
            guard ready > 0 else {
                kill(process, SIGKILL)
                return output + Array("\n\(path) did not end in time".utf8)
            }
            guard let bytes = try? FileReading.next(of: reader), !bytes.isEmpty else { return output }
            if output.count < SystemTool.mostOutput { output += bytes }
        }
    }

    private static func seconds() -> Int64 {
        Int64(clamping: monotonicNanoseconds() / 1_000_000_000)
    }
}
