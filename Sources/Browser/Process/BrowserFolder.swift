import Basics
import Glibc

/// The folder of one run of a browser: a fresh profile, its temporary files, what it prints.
///
/// It has mode 0700, and its lock (flock(2)) is held as long as it is used, so that one that was left behind by a
/// program that was killed can be told, and is removed by the next run.
struct BrowserFolder {
    static let prefix = "subproxy-browser-"
    /// A folder that was just made may not be locked yet.
    private static let youngestLeftover = 60

    let path: String
    private let descriptor: CInt

    var profile: String { path + "/profile" }
    var temporary: String { path + "/t" }
    var log: String { path + "/log" }

    /// - Parameter base: nil for what TMPDIR names, or else /tmp.
    init(in base: String?) throws(BrowserFailure) {
        let named = base ?? getenv("TMPDIR").map { String(cString: $0) } ?? ""
        let base = named.isEmpty ? "/tmp" : named
        BrowserFolder.removeLeftovers(in: base)
        var template = Array("\(base)/\(BrowserFolder.prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw BrowserFailure(.files, "no folder can be made in '\(base)': \(SystemError().text)")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
        guard descriptor >= 0, mkdir(profile, 0o700) == 0, mkdir(temporary, 0o700) == 0 else {
            let failure = SystemError()
            remove()
            throw BrowserFailure(.files, "no folder can be made in '\(path)': \(failure.text)")
        }
    }

    /// Removes it with all that is in it. Processes that end meanwhile may still write, so it is tried more than once.
    func remove() {
        for _ in 0..<50 where !FolderRemoval.remove(path) { usleep(20_000) }
        if descriptor >= 0 { close(descriptor) }
    }

    /// The last line that the browser printed about an error.
    var lastError: String? {
        guard let bytes = try? FileReading.contents(of: log, upTo: 1 << 20) else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let line =
            lines.last { $0.contains(":FATAL:") } ?? lines.last { $0.contains(":ERROR:") && !$0.contains("dbus") }
        return line.map { line in String(line.split(separator: "] ", maxSplits: 1).last ?? line) }
    }

    private static func removeLeftovers(in base: String) {
        for name in FolderRemoval.names(in: base) where name.hasPrefix(prefix) {
            let path = "\(base)/\(name)"
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
                status.st_mtim.tv_sec < time(nil) - youngestLeftover,
                flock(descriptor, LOCK_EX | LOCK_NB) == 0
            else { continue }
            _ = FolderRemoval.remove(path)
        }
    }
}
