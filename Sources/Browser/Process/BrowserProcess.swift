import Basics
import Glibc

/// A browser that runs as a child of this process, in a process group of its own.
final class BrowserProcess {
    /// The descriptors that `--remote-debugging-pipe` reads from and writes to.
    private static let commands: CInt = 3
    private static let answers: CInt = 4

    let process: pid_t
    let folder: BrowserFolder
    private var isEnded = false

    /// Starts a browser (posix_spawn(3)).
    ///
    /// - Parameter socket: what it gets its commands from and writes its answers to; -1 for neither.
    /// - Throws: ``BrowserFailure``; then the folder is removed.
    init(_ options: BrowserOptions, in folder: BrowserFolder, socket: CInt) throws(BrowserFailure) {
        let profile = options.userDataFolder ?? folder.profile
        let cache = options.userDataFolder == nil ? nil : folder.path + "/cache"
        let words = [options.executable] + BrowserArguments.list(for: options, profile: profile, cache: cache)
        var process = pid_t()
        let code = BrowserProcess.spawn(words, folder: folder, socket: socket, &process)
        guard code == 0, process > 0 else {
            throw BrowserFailure(.unavailable, "can't run '\(options.executable)': \(SystemError(code).text)")
        }
        // Set last: an object that is not whole is not ended.
        self.process = process
        self.folder = folder
    }

    private static func spawn(
        _ words: [String], folder: BrowserFolder, socket: CInt, _ process: inout pid_t
    ) -> CInt {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        let flags = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, folder.log, flags, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        if socket >= 0 {
            posix_spawn_file_actions_adddup2(&actions, socket, commands)
            posix_spawn_file_actions_adddup2(&actions, socket, answers)
        } else {
            // A window may outlive this program: its folder stays as long as it does.
            posix_spawn_file_actions_adddup2(&actions, folder.lock, commands)
        }
        // Not all that libraries open is closed by exec. (proc_pid_fd(5))
        let first = (socket >= 0 ? answers : commands) + 1
        for descriptor in FolderRemoval.names(in: "/proc/self/fd").compactMap({ CInt($0) }) where descriptor >= first {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }

        // It inherits neither which signals this program blocks and ignores, nor the terminal's Ctrl-C.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var usual = sigset_t()
        sigemptyset(&usual)
        for number in [SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2] { sigaddset(&usual, number) }
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

        let arguments = words.map { strdup($0) }
        let settings = variables(folder, isShown: socket < 0).map { strdup($0) }
        defer { for text in arguments + settings { free(text) } }
        return posix_spawn(&process, words[0], &actions, &attributes, arguments + [nil], settings + [nil])
    }

    /// This process's environment, but that the browser leaves nothing in its user's folders.
    private static func variables(_ folder: BrowserFolder, isShown: Bool) -> [String] {
        var set = ["BREAKPAD_DUMP_LOCATION": folder.temporary, "MESA_SHADER_CACHE_DISABLE": "true"]
        // A window takes its look from the desktop's settings. To read them, dconf makes a file in ~/.cache.
        if !isShown { set["GSETTINGS_BACKEND"] = "memory" }
        // The socket of its lock stands in TMPDIR, and its path has to fit into sun_path (unix(7)).
        if folder.temporary.utf8.count < 60 { set["TMPDIR"] = folder.temporary }
        var variables = set.map { "\($0)=\($1)" }
        var next = environ
        while let variable = next.pointee {
            let text = String(cString: variable)
            if set[String(text.prefix { $0 != "=" })] == nil { variables.append(text) }
            next += 1
        }
        return variables
    }

    /// Whether it has ended; its status is not taken.
    var hasEnded: Bool {
        if isEnded { return true }
        var information = siginfo_t()
        return waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT) == 0
            && information.si_signo == SIGCHLD
    }

    /// The status that it has ended with, which is not taken; nil while it runs, and where a signal ended it.
    var status: CInt? {
        var information = siginfo_t()
        guard !isEnded, waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT) == 0,
            information.si_signo == SIGCHLD, information.si_code == CLD_EXITED
        else { return nil }
        return information._sifields._sigchld.si_status
    }

    /// Waits until it has ended.
    ///
    /// - Returns: false if it has not within that time.
    func wait(milliseconds: Int) -> Bool {
        let deadline = Deadline(milliseconds: milliseconds)
        while !hasEnded {
            if deadline.isOver { return false }
            usleep(2000)
        }
        return true
    }

    /// Ends what still runs of it, and removes its folder.
    func end() {
        guard !isEnded else { return }
        // As long as its status is not taken, no other group gets its number.
        kill(-process, SIGKILL)
        var status: CInt = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        isEnded = true
        folder.remove()
    }

    deinit { end() }
}
