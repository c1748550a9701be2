import Glibc

/// Finds the browser that is installed.
public enum BrowserExecutable {
    /// The names that are looked for, in this order.
    public static let names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]

    /// The browser to start.
    ///
    /// - Parameters:
    ///   - file: what `--browser` names: a path, or a name on PATH; nil for the first of ``names`` on PATH.
    ///   - path: what stands for PATH; nil, the default, for PATH itself. An empty folder in it is passed over.
    /// - Throws: ``BrowserFailure`` of kind `unavailable`, with what to install.
    public static func find(
        _ file: String? = nil, path: String? = nil,
        isExecutable: (String) -> Bool = BrowserExecutable.isExecutable
    ) throws(BrowserFailure) -> String {
        if let file, file.utf8.contains(UInt8(ascii: "/")) {
            guard isExecutable(file) else { throw BrowserFailure(.unavailable, "'\(file)' can't be run") }
            return file
        }
        let path = path ?? getenv("PATH").map { String(cString: $0) } ?? ""
        let folders = path.split(separator: ":")
        for name in file.map({ [$0] }) ?? names {
            for folder in folders where isExecutable("\(folder)/\(name)") { return "\(folder)/\(name)" }
        }
        guard let file else {
            throw BrowserFailure(.unavailable, "no Chromium or Chrome was found: sudo apt install chromium")
        }
        throw BrowserFailure(.unavailable, "there is no '\(file)' on PATH")
    }

    /// Whether a path is that of a file that this user may run (access(2)).
    public static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}
