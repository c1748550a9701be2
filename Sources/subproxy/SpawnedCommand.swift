import Basics
@preconcurrency import Glibc

/// A command that runs as a child of this process.
struct SpawnedCommand {
    let process: pid_t

    /// Starts a command, found as a shell finds it. (posix_spawnp(3))
    ///
    /// It gets the signal mask, the dispositions and the limits that this program was started with, and its own
    /// standard streams.
    ///
    /// - Parameters:
    ///   - arguments: the command and its arguments, ended by a null pointer; bytes as they came.
    ///   - environment: variables that are set for it, over those of this process.
    ///   - descriptors: those that were open before this program opened any; others are not for the command.
    ///   - hasInput: whether it gets this program's standard input; else it gets an empty one.
    /// - Throws: ``CommandFailure`` with status 127 where there is no such command, and 126 where it can't be run.
    init(
        _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, environment: [(name: String, value: String)],
        descriptors: Set<CInt>, hasInput: Bool, in context: ProcessContext
    ) throws {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var mask = context.signals.inherited
        var defaults = context.signals.newlyIgnored
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        // Not all that libraries open is closed by exec.
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if !hasInput { posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) }
        for descriptor in OpenDescriptors.list().subtracting(descriptors) where descriptor > STDERR_FILENO {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }

        var variables = SpawnedCommand.inheritedVariables(without: Set(environment.map(\.name)))
        let added = environment.map { strdup("\($0.name)=\($0.value)") }
        defer { for variable in added { free(variable) } }
        variables += added
        variables.append(nil)

        guard let path = arguments[0] else { throw CommandFailure(status: .usage, message: "no command is given") }
        var process = pid_t()
        let code = context.limits.withInherited {
            posix_spawnp(&process, path, &actions, &attributes, arguments, variables)
        }
        self.process = process
        let name = String(cString: path)
        switch code {
        case 0: return
        case ENOENT: throw CommandFailure(status: .notFound, message: "there is no command '\(name)'")
        default:
            throw CommandFailure(
                status: .notExecutable, message: "can't run '\(name)': \(SystemError(code).text)")
        }
    }

    /// The status that the child has ended with, as shells have it; nil while it runs. (waitpid(2))
    func exitStatus() -> ExitStatus? {
        var status: CInt = 0
        let result = waitpid(process, &status, WNOHANG)
        guard result == process else { return result < 0 && errno == ECHILD ? .failure : nil }
        let signal = status & 0x7f
        return signal == 0 ? ExitStatus(rawValue: (status >> 8) & 0xff) : .signal(signal)
    }

    private static func inheritedVariables(without names: Set<String>) -> [UnsafeMutablePointer<CChar>?] {
        var variables: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let variable = next.pointee {
            let name = String(cString: variable).prefix { $0 != "=" }
            if !names.contains(String(name)) { variables.append(variable) }
            next += 1
        }
        return variables
    }
}
