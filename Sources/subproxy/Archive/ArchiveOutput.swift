import Archives
import Basics
import CLinux
import Glibc

/// An archive that is to be written: under another name, until it is whole.
struct ArchiveOutput {
    private let name: String
    private let isFolder: Bool
    private let replaces: Bool
    private let scratch: String

    /// The kind of archive that a name says.
    ///
    /// - Parameter written: the kinds that may be, for the message.
    /// - Throws: ``CommandFailure`` with status 64 for a kind that is not written, standard output, and an empty name.
    static func kind(
        of name: String, written: String = ".mhtml, .mht, .webarchive, .har, .warc, .warc.gz, or a folder"
    ) throws(CommandFailure) -> ArchiveKind {
        guard !name.isEmpty else {
            throw CommandFailure(status: .usage, message: "the name of what to write is empty; name a file or a folder")
        }
        guard name != "-" else {
            throw CommandFailure(
                status: .usage, message: "an archive is not written to standard output; name a file or a folder")
        }
        if name.hasSuffix("/") || exists(name, S_IFDIR) { return .recording }
        if let kind = ArchiveKind.named(name) { return kind }
        let why: String
        switch name.lowercased().split(separator: ".").last {
        case "html", "htm": why = "a page in a single .html file is not written"
        case "zip", "wacz": why = ".zip and .wacz are read, and not written"
        default: why = "this is no kind of archive that is written"
        }
        throw CommandFailure(status: .usage, message: "'\(name)': \(why); what is, are \(written)")
    }

    /// - Parameter replaces: whether one that is there is replaced.
    /// - Throws: ``CommandFailure`` with status 73 where something is there that isn't.
    init(_ name: String, _ kind: ArchiveKind, replaces: Bool) throws(CommandFailure) {
        var name = name
        while name.count > 1, name.hasSuffix("/") { name.removeLast() }
        self.name = name
        self.replaces = replaces
        isFolder = kind.format == .recording
        let slash = name.lastIndex(of: "/").map { name.index(after: $0) } ?? name.startIndex
        scratch = "\(name[..<slash]).\(name[slash...]).\(getpid()).part"
        guard ArchiveOutput.exists(name, nil) else { return }
        if let status = FileStatus(name), !status.isFile, !status.isFolder {
            throw CommandFailure(status: .cantCreate, message: "'\(name)' is neither a file nor a folder")
        }
        guard replaces else {
            throw CommandFailure(status: .cantCreate, message: "'\(name)' exists; --force replaces it")
        }
        if isFolder, !ArchiveOutput.isRecording(name) {
            throw CommandFailure(
                status: .cantCreate, message: "'\(name)' is no recording; only such a folder is replaced")
        }
    }

    /// Looks whether the folder that it is to be in is there, and can be written to.
    ///
    /// - Throws: ``CommandFailure`` with status 73.
    func checkFolder() throws(CommandFailure) {
        guard let reason = LocalFile.unwritableReason(folderOf: name) else { return }
        throw CommandFailure(status: .cantCreate, message: "'\(name)' can't be written: \(reason)")
    }

    private static func exists(_ path: String, _ kind: mode_t?) -> Bool {
        var status = stat()
        guard let kind else { return lstat(path, &status) == 0 }
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == kind
    }

    /// Whether a folder has nothing but what a recording has, and what a recorder that was killed leaves in it.
    static func isRecording(_ path: String) -> Bool {
        guard exists(path, S_IFDIR) else { return false }
        let known: Set<String> = ["substitutions.yaml", "recording.yaml", "files", ".recording-part"]
        return FolderRemoval.names(in: path).allSatisfy { known.contains($0) }
    }

    // MARK: Writing

    /// Has it written, and puts it in its place.
    ///
    /// - Throws: ``CommandFailure``; then nothing has changed.
    func write<Result>(_ body: (String) throws(ConversionFailure) -> Result) throws(CommandFailure) -> Result {
        removeLeftovers()
        ArchiveOutput.remove(scratch)
        let result: Result
        do throws(ConversionFailure) {
            result = try body(scratch)
        } catch {
            ArchiveOutput.remove(scratch)
            switch error {
            case .writing(let why):
                throw CommandFailure(status: .cantCreate, message: "'\(name)' can't be written: \(why)")
            case .reading(let problem):
                throw CommandFailure(status: .dataError, message: "the archive can't be read: \(problem.message)")
            }
        }
        guard place() else {
            let why = SystemError().text
            ArchiveOutput.remove(scratch)
            throw CommandFailure(status: .cantCreate, message: "'\(name)' can't be written: \(why)")
        }
        return result
    }

    /// Gives it its name. (rename(2))
    private func place() -> Bool {
        guard isFolder, ArchiveOutput.exists(name, nil) else {
            // What has come there meanwhile is not replaced without being asked to.
            if !replaces, ArchiveOutput.exists(name, nil) {
                errno = EEXIST
                return false
            }
            keepPermissions()
            return rename(scratch, name) == 0
        }
        guard KeptFiles(of: name).link(into: scratch) == nil else { return false }
        // The rules of a recording are written once, and kept.
        let rules = (old: "\(name)/substitutions.yaml", new: "\(scratch)/substitutions.yaml")
        if ArchiveOutput.exists(rules.old, nil) {
            unlink(rules.new)
            // Not every file system has hard links.
            guard link(rules.old, rules.new) == 0 || ArchiveOutput.copy(rules.old, to: rules.new) else { return false }
        }
        keepPermissions()
        return exchange()
    }

    /// Who may read what is replaced may read the new one, and nobody else. Root alone can give it to another user.
    private func keepPermissions() {
        var status = stat()
        guard stat(name, &status) == 0 else { return }
        _ = chown(scratch, status.st_uid, status.st_gid)
        chmod(scratch, status.st_mode & 0o7777)
    }

    /// - Returns: false with errno where that can't be done.
    private static func copy(_ path: String, to other: String) -> Bool {
        var status = stat()
        do throws(SystemError) {
            let bytes = try FileReading.contents(of: path, upTo: 64 << 20)
            guard stat(path, &status) == 0 else { throw SystemError() }
            return LocalFile.make(other, bytes, mode: status.st_mode & 0o777)
        } catch {
            errno = error.code
            return false
        }
    }

    /// Gives a folder the place of the old one, which is removed.
    private func exchange() -> Bool {
        // Both change their names at once, so that there is a whole one at any time. (renameat2(2))
        if linux_exchange(scratch, name) == 0 {
            ArchiveOutput.remove(scratch)
            return true
        }
        // Not every file system can do that.
        let old = "\(scratch).old"
        ArchiveOutput.remove(old)
        guard rename(name, old) == 0 else { return false }
        guard rename(scratch, name) == 0 else {
            let code = errno
            rename(old, name)
            errno = code
            return false
        }
        ArchiveOutput.remove(old)
        return true
    }

    /// Removes what programs that were killed have left of this archive: it has the number of a process that is gone, and
    /// nobody has written to it for a day, so that it is no other machine's. One beside which the old archive was left stays.
    private func removeLeftovers() {
        let folder = LocalFile.folder(of: name)
        let start = ".\(LocalFile.name(of: name))."
        for entry in FolderRemoval.names(in: folder) where entry.hasPrefix(start) && entry.hasSuffix(".part") {
            let number = pid_t(entry.dropFirst(start.count).dropLast(5))
            guard let number, number > 0, kill(number, 0) != 0, errno == ESRCH else { continue }
            let path = "\(folder)/\(entry)"
            var status = stat()
            guard lstat(path, &status) == 0, !ArchiveOutput.exists("\(path).old", nil) else { continue }
            let age = Int64(clamping: wallNanoseconds() / 1_000_000_000) - Int64(status.st_mtim.tv_sec)
            if age > 86_400 { ArchiveOutput.remove(path) }
        }
    }

    /// Removes what is of no use any more; errno stays as it is.
    private static func remove(_ path: String) {
        let code = errno
        defer { errno = code }
        FolderRemoval.remove(path)
    }
}
