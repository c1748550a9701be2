import ArgumentParser
import Basics
import Glibc
import Sessions

/// The options of `serve` and `run` about the proxy's own pages for its user.
struct ConsoleOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Local users, by name or number, who may look at saved sessions beside the one that the proxy runs as: \
            alice,1001.
            """, valueName: "list"))
    var consoleUsers: String?

    @Option(
        help: ArgumentHelp(
            "Folder of saved sessions. (default: sessions beside the first map)", valueName: "folder"),
        completion: .directory)
    var sessions: String?

    /// Looks whether sessions can be saved where they are to be; a folder that is not there is made when one is.
    ///
    /// - Throws: ``CommandFailure`` with status 66 where that is no folder.
    func check() throws(CommandFailure) {
        var status = stat()
        guard let sessions, stat(sessions, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { return }
        throw CommandFailure(
            status: .noInput,
            message: "the folder '\(sessions)' of --sessions can't be read: \(SystemError(ENOTDIR).text)")
    }

    /// The numbers of the users.
    ///
    /// - Throws: ``ArgumentParser/ValidationError`` where there is no such user.
    func userNumbers() throws -> Set<UInt32> {
        guard let consoleUsers else { return [] }
        let names = consoleUsers.split(separator: ",", omittingEmptySubsequences: false)
        return Set(try names.map { try ConsoleOptions.number(String($0)) })
    }

    /// A name is looked up first, as in chown(1): there are names of digits.
    private static func number(_ name: String) throws -> UInt32 {
        guard !name.isEmpty else {
            throw ValidationError("--console-users must be users with commas between, as in alice,1001")
        }
        if let entry = getpwnam(name) { return entry.pointee.pw_uid }
        guard let number = UInt32(name), number != .max, name.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            throw ValidationError("--console-users names '\(name)', and there is no such user")
        }
        return number
    }

    /// The folder of sessions; nil where no map and no folder is named.
    func sessionsFolder(besideFirstOf maps: [String]) -> SessionFolder? {
        if let sessions { return SessionFolder(path: sessions) }
        return maps.first.map { SessionFolder(besideMap: $0 == "-" ? "" : $0) }
    }
}
