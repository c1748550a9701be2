import Glibc

/// System calls of a running process that fail or take long, as strace(1) makes them, until ``end()``.
///
/// Attached after the start, since it would hold the program's loading up as well. Every system call of the process is
/// slower meanwhile.
public final class FaultInjection: Sendable {
    private let tracer: ChildProcess

    /// Whether strace may attach to a process of ours; where it is missing that is not known.
    public static let isAllowed: Bool = {
        guard InstalledProgram.path("strace") != nil else { return true }
        guard let sleeper = try? ChildProcess(["sleep", "20"]),
            let injection = try? FaultInjection(into: sleeper, ["pread64:error=EIO:when=1000"])
        else { return false }
        defer { sleeper.send(SIGKILL) }
        return (try? injection.end()) != nil
    }()

    /// Attaches to all threads of a process.
    ///
    /// - Parameter faults: as strace takes them after `inject=`, such as `pread64:error=EIO:when=3+4`; counted for each
    ///   thread and system call.
    /// - Throws: ``Refused`` where strace is not there or may not attach.
    public init(into process: ChildProcess, _ faults: [String]) throws {
        let calls = faults.map { $0.prefix { $0 != ":" } }.joined(separator: ",")
        let tracer = try ChildProcess(
            ["strace", "-f", "-p", "\(process.identifier)", "-e", "trace=\(calls)"]
                + faults.flatMap { ["-e", "inject=\($0)"] })
        try Wait.until {
            guard tracer.status == nil else { throw Refused(error: tracer.error) }
            return tracer.error.contains(" attached")
        }
        self.tracer = tracer
    }

    /// A fault that holds every call of this name back until ``end()``, which lets them all go on.
    public static func holding(_ call: String) -> String { "\(call):delay_enter=600000000" }

    /// Whether one of the system calls has begun, though it may be held back.
    public func hasBegun(_ call: String) -> Bool { tracer.error.contains("\(call)(") }

    /// How many system calls have failed or were held back so far.
    public var count: Int {
        tracer.error.split(separator: "\n").count { $0.contains("(INJECTED)") || $0.contains("(DELAYED)") }
    }

    /// Detaches; the process goes on undisturbed.
    ///
    /// - Throws: ``Socket/Failure/timedOut`` where strace does not end.
    public func end() throws {
        tracer.send(SIGTERM)
        try tracer.finish()
    }

    /// strace did not start, or did not attach.
    public struct Refused: Error {
        public var error: String
    }
}
