import Glibc
import NIOCore

/// What a service manager has put into the environment of the process that it starts. (sd_notify(3),
/// sd_watchdog_enabled(3), sd_listen_fds(3))
struct ServiceEnvironment {
    let notifier: ServiceNotifier
    /// How often the manager wants to hear that the program is alive; nil where it doesn't.
    let watchdogInterval: TimeAmount?
    let descriptors: [PassedDescriptor]

    /// Takes the variables out of the environment, so that they reach no child; must come before any thread is started.
    static func take() throws(PassedDescriptorError) -> ServiceEnvironment {
        defer { for name in names { unsetenv(name) } }
        let variable = { (name: String) in getenv(name).map { String(cString: $0) } }
        // Before anything is opened that could get the number of one that was not passed.
        let descriptors = try PassedDescriptor.all(variable, process: getpid())
        return ServiceEnvironment(
            notifier: ServiceNotifier(socket: variable("NOTIFY_SOCKET")),
            watchdogInterval: watchdogInterval(variable, process: getpid()), descriptors: descriptors)
    }

    private static let names = [
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_PIDFDID",
        "LISTEN_FDNAMES",
    ]

    /// Half of what the manager allows to pass between two messages.
    static func watchdogInterval(_ variable: (String) -> String?, process: pid_t) -> TimeAmount? {
        guard let text = variable("WATCHDOG_USEC"), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let allowed = Int64(text), allowed > 0, allowed <= Int64.max / 1000
        else { return nil }
        if let owner = variable("WATCHDOG_PID"), DecimalNumber.parse(owner.utf8) != Int(process) { return nil }
        return .microseconds(max(1, allowed / 2))
    }
}
