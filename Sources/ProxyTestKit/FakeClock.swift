import Glibc

/// A program with a wall clock of its own, as faketime(1) makes it; its monotonic clock is the system's.
public enum FakeClock {
    /// A command that runs another one by a clock such as `+400d` or `-10y`: as its child, which ends with it.
    public static func wrapper(_ clock: String) -> [String] {
        ["faketime", "-m", "-f", clock, "setpriv", "--pdeathsig", "KILL", "env"] + settings
    }

    /// As ``wrapper(_:)``, by the clock that a file says, whatever it says at a time.
    public static func wrapper(file: String) -> [String] {
        // The variable that faketime sets comes before any file.
        wrapper("+0d") + ["env", "--unset=FAKETIME", "FAKETIME_TIMESTAMP_FILE=\(file)", "FAKETIME_NO_CACHE=1"]
    }

    /// The times of files stay what they are.
    private static let settings = ["FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"]

    /// Ends what a wrapper has started, and waits.
    ///
    /// - Returns: the program's exit status.
    /// - Throws: ``Socket/Failure/timedOut`` where it does not end.
    public static func end(_ wrapper: ChildProcess) throws -> Int32 {
        let path = "/proc/\(wrapper.identifier)/task/\(wrapper.identifier)/children"
        let children = try ChildProcess.run(["cat", path]).output.split(separator: " ").compactMap { pid_t($0) }
        for child in children { kill(child, SIGTERM) }
        return try wrapper.finish()
    }
}
