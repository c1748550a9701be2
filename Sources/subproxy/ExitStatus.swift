/// The statuses that the program exits with; those from 64 on are of sysexits(3).
struct ExitStatus: Equatable {
    let rawValue: CInt

    static let success = ExitStatus(rawValue: 0)
    /// `check` found errors.
    static let failure = ExitStatus(rawValue: 1)
    /// An option can't be used.
    static let usage = ExitStatus(rawValue: 64)
    /// A map has errors, or a certificate or its key is none.
    static let dataError = ExitStatus(rawValue: 65)
    /// A file that an option names can't be read.
    static let noInput = ExitStatus(rawValue: 66)
    /// An address can't be listened on.
    static let unavailable = ExitStatus(rawValue: 69)
    /// The system refused what every start needs, such as a thread.
    static let systemError = ExitStatus(rawValue: 71)
    /// The log file can't be opened.
    static let cantCreate = ExitStatus(rawValue: 73)
    /// Something can't be written, or not all of it.
    static let ioError = ExitStatus(rawValue: 74)
    /// Something took too long.
    static let temporaryFailure = ExitStatus(rawValue: 75)
    /// A page did not load.
    static let notLoaded = ExitStatus(rawValue: 76)
    /// A command was found but can't be run, as shells have it.
    static let notExecutable = ExitStatus(rawValue: 126)
    /// A command was not found, as shells have it.
    static let notFound = ExitStatus(rawValue: 127)

    /// The status of a process that a signal ended, as shells have it.
    static func signal(_ number: CInt) -> ExitStatus { ExitStatus(rawValue: 128 &+ number) }
}

/// Why a command gives up: one line for its user, and the status to exit with.
struct CommandFailure: Error {
    var status: ExitStatus
    /// What is printed behind `subproxy: error: `; empty where all has been said.
    var message: String
}
