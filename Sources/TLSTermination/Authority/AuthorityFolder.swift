import Glibc

/// Says where the certificate authority's files are kept.
public enum AuthorityFolder {
    /// The folder: the one given, else `$STATE_DIRECTORY` (systemd.exec(5); the first where it lists several), else
    /// `$XDG_DATA_HOME/subproxy`, else `~/.local/share/subproxy`.
    ///
    /// As the XDG Base Directory Specification has it, a variable whose path is relative counts as unset.
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
            return given
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

    /// A variable of this process's environment.
    public static func environmentVariable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// The home directory of this process's user in the user database (`getpwuid_r`).
    public static func accountHome() -> String? { Account.current?.home }

    private static func absolute(_ path: String?) -> String? {
        guard var path, path.hasPrefix("/") else { return nil }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path == "/" ? "" : path
    }
}
