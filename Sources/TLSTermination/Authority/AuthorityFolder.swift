import Basics
import Glibc

/// Says where the certificate authority's files are kept.
public enum AuthorityFolder {
    /// The folder: the one given, else `$STATE_DIRECTORY` (systemd.exec(5); the first where it lists several), else
    /// `$XDG_DATA_HOME/subproxy`, else `~/.local/share/subproxy`.
    ///
    /// It is absolute: what is told of it, to people and to commands, holds in other folders too. As the XDG Base
    /// Directory Specification has it, a variable whose path is relative counts as unset.
    ///
    /// - Throws: ``AuthorityFailure/Code/noFolder`` where no home directory is known either.
    public static func path(
        given: String?, variable: (String) -> String? = environmentVariable, home: () -> String? = accountHome
    ) throws(AuthorityFailure) -> String {
        if let given {
            guard !given.isEmpty, !given.utf8.contains(0) else {
                throw AuthorityFailure(
                    .noFolder, "the folder given for the certificate authority is empty", advice: "name one")
            }
            return absolute(fromHere: given)
        }
        if let state = variable("STATE_DIRECTORY")?.split(separator: ":").first, state.hasPrefix("/") {
            return String(state)
        }
        if let data = absolute(variable("XDG_DATA_HOME")) { return "\(data)/subproxy" }
        if let home = absolute(variable("HOME")) ?? absolute(home()) { return "\(home)/.local/share/subproxy" }
        throw AuthorityFailure(
            .noFolder, "there is no folder for the certificate authority, because no home directory is known",
            advice: "set HOME, or give one with --ca-dir")
    }

    /// A command that acts on the authority in a folder, as messages have it, in quotes: with `--ca-dir` where the
    /// folder is not the one that the command would take in a shell, which has no `$STATE_DIRECTORY`.
    public static func command(
        _ words: String, on folder: String, variable: (String) -> String? = environmentVariable
    ) -> String {
        let usual = try? path(given: nil, variable: { $0 == "STATE_DIRECTORY" ? nil : variable($0) })
        return folder == usual ? "`subproxy \(words)`" : "`subproxy \(words) --ca-dir \(ShellText.quoted(folder))`"
    }

    /// A variable of this process's environment.
    public static func environmentVariable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// The home directory of this process's user in the user database (`getpwuid_r`).
    public static func accountHome() -> String? { Account.current?.home }

    private static func absolute(fromHere path: String) -> String {
        guard !path.hasPrefix("/"), let here = getcwd(nil, 0) else { return path }
        defer { free(here) }
        let folder = String(cString: here)
        return folder == "/" ? "/\(path)" : "\(folder)/\(path)"
    }

    private static func absolute(_ path: String?) -> String? {
        guard var path, path.hasPrefix("/") else { return nil }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path == "/" ? "" : path
    }
}
