import Glibc

/// A folder for what one run of the program writes down meanwhile, which is gone with it.
///
/// It has mode 0700, and its lock (flock(2)) is held as long as it is used, so that one that was left behind by a
/// program that was killed can be told, and is removed by the next run.
public final class ScratchFolder: Sendable {
    /// A folder that was just made may not be locked yet.
    private static let youngestLeftover = 60

    public let path: String
    private let descriptor: CInt

    /// What holds its lock, for a child that is to hold it too: flock(2) belongs to what is open, not to who opened it.
    public var lock: CInt { descriptor }

    /// Makes a folder, and removes what earlier runs have left.
    ///
    /// - Parameters:
    ///   - prefix: what its name begins with; those of no other program begin so.
    ///   - base: where it is made; nil for what TMPDIR names, or else /tmp.
    /// - Throws: ``SystemError`` where it can't be made.
    public init(prefix: String, in base: String? = nil) throws(SystemError) {
        let base = ScratchFolder.base(base)
        ScratchFolder.removeLeftovers(prefix, in: base)
        var template = Array("\(base)/\(prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError() }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let failure = SystemError()
            rmdir(path)
            throw failure
        }
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The folder in which temporary files are made: `named`, or what TMPDIR names, or else /tmp.
    public static func base(_ named: String? = nil) -> String {
        let named = named ?? getenv("TMPDIR").map { String(cString: $0) } ?? ""
        return named.isEmpty ? "/tmp" : named
    }

    /// Removes it with all that is in it. Processes that end meanwhile may still write, so it is tried more than once.
    public func remove() {
        for _ in 0..<50 where !FolderRemoval.remove(path) { usleep(20_000) }
    }

    private static func removeLeftovers(_ prefix: String, in base: String) {
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
            FolderRemoval.remove(path)
        }
    }
}
