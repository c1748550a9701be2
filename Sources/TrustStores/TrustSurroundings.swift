import Glibc
import TLSTermination

/// Where trust stores, programs and settings are looked for; tests have a machine of their own in a folder.
public struct TrustSurroundings: Sendable {
    /// The user's home directory; nil where none is known.
    public var home: String?
    /// A prefix for paths of the system; empty for the machine itself.
    public var root: String
    /// The folders in which programs are looked for, in this order.
    public var toolFolders: [String]
    /// Whether the process may change files of the system.
    public var isAdministrator: Bool
    private let variables: @Sendable (String) -> String?

    public init(
        home: String?, root: String, toolFolders: [String], isAdministrator: Bool,
        variables: @escaping @Sendable (String) -> String? = { _ in nil }
    ) {
        self.home = home
        self.root = root
        self.toolFolders = toolFolders
        self.isAdministrator = isAdministrator
        self.variables = variables
    }

    /// This process's user, machine and environment.
    ///
    /// Programs are looked for in PATH, and then in the folders for administration, which it often lacks.
    public static var ofThisProcess: TrustSurroundings {
        let path = (AuthorityFolder.environmentVariable("PATH") ?? "/usr/local/bin:/usr/bin:/bin")
            .split(separator: ":").map(String.init)
        let home = AuthorityFolder.environmentVariable("HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        return TrustSurroundings(
            home: home ?? AuthorityFolder.accountHome(), root: "",
            toolFolders: path.filter { $0.hasPrefix("/") } + ["/usr/local/sbin", "/usr/sbin", "/sbin", "/snap/bin"],
            isAdministrator: geteuid() == 0, variables: AuthorityFolder.environmentVariable)
    }

    /// A variable of the environment; one that is empty counts as unset, as most programs have it.
    func variable(_ name: String) -> String? { variables(name).flatMap { $0.isEmpty ? nil : $0 } }

    /// The program of a name; nil where there is none.
    func tool(_ name: String) -> SystemTool? {
        for folder in toolFolders where access("\(folder)/\(name)", X_OK) == 0 && LocalFiles.isFile("\(folder)/\(name)")
        {
            return SystemTool(path: "\(folder)/\(name)")
        }
        return nil
    }

    /// A folder below the home directory, or the one that a variable names in its place (XDG Base Directory
    /// Specification: a relative path doesn't count).
    func folder(_ variableName: String, orBelowHome name: String) -> String? {
        if let path = variable(variableName), path.hasPrefix("/") { return path }
        return home.map { "\($0)/\(name)" }
    }
}
