import Basics
import Glibc

/// The folder of one run of a browser: a fresh profile, its temporary files, what it prints.
struct BrowserFolder {
    static let prefix = "subproxy-browser-"

    private let folder: ScratchFolder

    var path: String { folder.path }
    var profile: String { path + "/profile" }
    var temporary: String { path + "/t" }
    var log: String { path + "/log" }
    var lock: CInt { folder.lock }

    /// - Parameter base: nil for what TMPDIR names, or else /tmp.
    init(in base: String?) throws(BrowserFailure) {
        do throws(SystemError) {
            folder = try ScratchFolder(prefix: BrowserFolder.prefix, in: base)
        } catch {
            throw BrowserFailure(.files, "no folder can be made in '\(ScratchFolder.base(base))': \(error.text)")
        }
        guard mkdir(profile, 0o700) == 0, mkdir(temporary, 0o700) == 0 else {
            let failure = SystemError()
            remove()
            throw BrowserFailure(.files, "no folder can be made in '\(path)': \(failure.text)")
        }
    }

    func remove() { folder.remove() }

    /// The last line that the browser printed about an error.
    var lastError: String? {
        guard let bytes = try? FileReading.contents(of: log, upTo: 1 << 20) else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let line =
            lines.last { $0.contains(":FATAL:") } ?? lines.last { $0.contains(":ERROR:") && !$0.contains("dbus") }
        return line.map { line in String(line.split(separator: "] ", maxSplits: 1).last ?? line) }
    }
}
