import Archives
import Basics
import CLinux
import Glibc
import Recorder

/// A recording that is written beside another one, `OUT.new`, and put in its place at the end.
struct ScratchRecording {
    let path: String
    private let target: String
    private let isFolder: Bool
    /// Whether it has all that was sent, and stays its owner's alone.
    private let isPrivate: Bool
    /// That of the old one, while it is there: nobody adds to it what would be lost.
    private let lock: FileLock?
    /// Whether there was another one, which this one replaces.
    let hasOld: Bool
    private let hasOldEntries: Bool

    /// Removes what a recorder that was killed has left.
    ///
    /// - Throws: ``RecorderFailure`` where another recorder writes it, or the old one, and where what is there is no
    ///   recording.
    init(_ target: RecordTarget, isPrivate: Bool) throws(RecorderFailure) {
        self.isPrivate = isPrivate
        let resolved = Self.resolved(target)
        self.target = resolved
        path = Self.path(of: target)
        isFolder = target.kind.format == .recording
        let name = isFolder ? "/recording.yaml" : ""
        lock = try FileLock(resolved + name)
        let left = try FileLock(path + name)
        guard !Self.exists(path) || (isFolder ? ArchiveOutput.isRecording(path) : Self.isArchive(path)) else {
            throw .system("'\(path)' is there, and is no recording")
        }
        hasOld = Self.exists(resolved)
        hasOldEntries = Self.exists(resolved + name)
        // Where there was none, another recorder may make one at this moment.
        if left != nil || isFolder { withExtendedLifetime(left) { remove() } }
        guard isFolder else { return }
        // Names that are taken in it are not given to what is recorded.
        // For no more users than the old one is.
        var old = stat()
        let mode: mode_t = stat(resolved, &old) == 0 ? old.st_mode & 0o777 | 0o700 : 0o777
        guard mkdir(path, mode) == 0 else { throw .system("\(path): \(SystemError().text)") }
        if let reason = KeptFiles(of: resolved).link(into: path) {
            remove()
            throw .system(reason)
        }
    }

    /// Where one is written.
    static func path(of target: RecordTarget) -> String { resolved(target) + ".new" }

    /// Whether a recorder writes one at this moment, which leaves the old one as it is until the end.
    static func isUnderWay(_ target: RecordTarget) -> Bool {
        LockedFile.isLocked(path(of: target) + (target.kind.format == .recording ? "/recording.yaml" : ""))
    }

    /// A link stays one: what it leads to is replaced.
    private static func resolved(_ target: RecordTarget) -> String {
        guard let real = realpath(target.path, nil) else { return target.path }
        defer { free(real) }
        return String(cString: real)
    }

    func remove() { FolderRemoval.remove(path) }

    /// Puts it in the place of the old one: the bodies' files all at once, then the list. The folder stays, with all
    /// that is no part of the recording, and of `files/` what ``KeptFiles`` says.
    ///
    /// - Returns: why it can't be; nil where it is done.
    func place() -> String? {
        // What has come there meanwhile is not replaced without being asked to.
        if !hasOldEntries, Self.exists(isFolder ? target + "/recording.yaml" : target) {
            return "a recording has come there meanwhile"
        }
        keepPermissions(of: isFolder ? "/recording.yaml" : "")
        guard isFolder, Self.exists(target) else { return rename(path, target) == 0 ? nil : SystemError().text }
        // What has changed while it was recorded.
        if let reason = KeptFiles(of: target).link(into: path) { return reason }
        if Self.exists("\(path)/files") {
            keepPermissions(of: "/files")
            if let reason = exchangeFiles() { return reason }
        } else if Self.exists("\(target)/files"), rename("\(target)/files", "\(path)/files") != 0 {
            return SystemError().text
        }
        guard rename("\(path)/recording.yaml", "\(target)/recording.yaml") == 0 else {
            let failure = SystemError()
            putFilesBack()
            return failure.text
        }
        if !Self.exists("\(target)/substitutions.yaml") {
            rename("\(path)/substitutions.yaml", "\(target)/substitutions.yaml")
        }
        remove()
        return nil
    }

    /// - Parameter part: a name within the folder, with a slash before it.
    private func keepPermissions(of part: String) {
        if !isPrivate { KeptPermissions.copy(from: target + part, to: path + part) }
    }

    private func exchangeFiles() -> String? {
        let (new, old) = ("\(path)/files", "\(target)/files")
        guard Self.exists(old) else { return rename(new, old) == 0 ? nil : SystemError().text }
        // Both change their names at once. (renameat2(2))
        let result = linux_exchange(new, old)
        guard result != 0 else { return nil }
        guard result == -EINVAL || result == -ENOSYS else { return SystemError(-result).text }
        // A file system that can't do that.
        let aside = "\(path)/files.old"
        guard rename(old, aside) == 0 else { return SystemError().text }
        guard rename(new, old) == 0 else {
            let failure = SystemError()
            rename(aside, old)
            return failure.text
        }
        return nil
    }

    /// Gives the old recording its bodies' files back.
    private func putFilesBack() {
        let (new, old, aside) = ("\(path)/files", "\(target)/files", "\(path)/files.old")
        if Self.exists(aside) {
            rename(old, new)
            rename(aside, old)
        } else if Self.exists(new), Self.exists(old) {
            _ = linux_exchange(new, old)
        } else if Self.exists(old) {
            rename(old, new)
        } else {
            rename(new, old)
        }
    }

    /// Whether a file begins as a HAR or a WARC does, as far as it goes: that of a killed recorder may end anywhere.
    private static func isArchive(_ path: String) -> Bool {
        let beginnings = [Array("{".utf8), Array("WARC/".utf8), [0x1F, 0x8B]]
        guard let start = try? FileReading.contents(of: path, upTo: 5) else { return false }
        return beginnings.contains { start.starts(with: $0.prefix(start.count)) }
    }

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
