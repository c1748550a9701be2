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

    /// Whether nobody else may read the files that are written. A file that replaces another one gets that one's
    /// permissions when it is whole. The files of a folder keep those that they are made with: they are private where
    /// the old list, or its folder of files, is not for all.
    var isPrivate: Bool {
        var status = stat()
        guard isFolder else { return stat(name, &status) == 0 }
        return [("recording.yaml", mode_t(0o004)), ("files", 0o001)].contains { part, bit in
            stat("\(name)/\(part)", &status) == 0 && status.st_mode & bit == 0
        }
    }

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
    /// - Throws: ``CommandFailure`` with status 73 where something is there that isn't replaced, or is recorded just
    ///   now.
    init(_ name: String, _ kind: ArchiveKind, replaces: Bool) throws(CommandFailure) {
        var name = name
        while name.count > 1, name.hasSuffix("/") { name.removeLast() }
        self.name = name
        self.replaces = replaces
        isFolder = kind.format == .recording
        // What programs work in is not replaced by another folder under them.
        if [".", ".."].contains(LocalFile.name(of: name)) {
            throw CommandFailure(status: .cantCreate, message: "'\(name)' is not replaced; name a folder within it")
        }
        let slash = name.lastIndex(of: "/").map { name.index(after: $0) } ?? name.startIndex
        scratch = "\(name[..<slash]).\(name[slash...]).\(getpid()).part"
        // A program with this number was killed while the old one had no name. Not every file system exchanges names.
        if isFolder, !ArchiveOutput.exists(name, nil) { rename(old, name) }
        guard ArchiveOutput.exists(name, nil) else { return }
        if let status = FileStatus(name), !status.isFile, !status.isFolder {
            throw CommandFailure(status: .cantCreate, message: "'\(name)' is neither a file nor a folder")
        }
        guard FileStatus(name, followsLinks: false)?.isLink != true else {
            throw CommandFailure(
                status: .cantCreate, message: "'\(name)' is a symbolic link; name what it leads to, or remove it")
        }
        guard replaces else {
            throw CommandFailure(status: .cantCreate, message: "'\(name)' exists; --force replaces it")
        }
        if isFolder, !ArchiveOutput.isRecording(name) {
            throw CommandFailure(
                status: .cantCreate, message: "'\(name)' is no recording; only such a folder is replaced")
        }
        guard !isBeingRecorded else {
            throw CommandFailure(
                status: .cantCreate, message: "'\(name)' is being recorded by another program; wait for its end")
        }
    }

    /// Whether a recorder appends to what is there: what it records from then on would be lost.
    private var isBeingRecorded: Bool { LockedFile.isLocked(isFolder ? "\(name)/recording.yaml" : name) }

    /// Looks whether the folder that it is to be in is there, and can be written to.
    ///
    /// - Throws: ``CommandFailure`` with status 73.
    func checkFolder() throws(CommandFailure) {
        if let reason = LocalFile.unwritableReason(folderOf: name) ?? tooLongReason { throw failure(reason) }
    }

    /// Why it can't have the name that it has until it is whole, which is longer than its own.
    private var tooLongReason: String? {
        access(scratch, F_OK) != 0 && errno == ENAMETOOLONG ? SystemError(ENAMETOOLONG).text : nil
    }

    private static func exists(_ path: String, _ kind: mode_t?) -> Bool {
        var status = stat()
        guard let kind else { return lstat(path, &status) == 0 }
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == kind
    }

    /// Whether a folder has nothing but what a recording has, and what a recorder that was killed leaves in it.
    static func isRecording(_ path: String) -> Bool {
        // What can't be listed may have anything.
        guard exists(path, S_IFDIR), let names = FolderRemoval.listedNames(in: path) else { return false }
        let known: Set<String> = [
            "substitutions.yaml", "recording.yaml", "files", ".recording-part", "recording.yaml.recording-part",
        ]
        return names.allSatisfy { known.contains($0) }
    }

    // MARK: Writing

    /// Has it written, and puts it in its place.
    ///
    /// - Throws: ``CommandFailure``; then nothing has changed.
    func write<Result>(_ body: (String) throws(ConversionFailure) -> Result) throws(CommandFailure) -> Result {
        removeLeftovers()
        ArchiveOutput.remove(scratch)
        if isFolder, ArchiveOutput.exists(name, nil) {
            mkdir(scratch, 0o700)
            // Names that are taken in it are not given to what is written.
            if let reason = KeptFiles(of: name).link(into: scratch) {
                ArchiveOutput.remove(scratch)
                throw failure(reason)
            }
        }
        let result: Result
        do throws(ConversionFailure) {
            result = try body(scratch)
        } catch {
            ArchiveOutput.remove(scratch)
            switch error {
            case .writing(let why): throw failure(why)
            case .reading(let problem):
                throw CommandFailure(status: .dataError, message: "the archive can't be read: \(problem.message)")
            }
        }
        if let reason = place() {
            ArchiveOutput.remove(scratch)
            throw failure(reason)
        }
        return result
    }

    private func failure(_ reason: String) -> CommandFailure {
        CommandFailure(status: .cantCreate, message: "'\(name)' can't be written: \(reason)")
    }

    /// Gives it its name. (rename(2))
    ///
    /// - Returns: why it can't be; nil where it is done.
    private func place() -> String? {
        // What has come there meanwhile is not replaced without being asked to.
        if !replaces, ArchiveOutput.exists(name, nil) { return SystemError(EEXIST).text }
        guard !isBeingRecorded else { return SystemError(EBUSY).text }
        guard isFolder, ArchiveOutput.exists(name, nil) else {
            KeptPermissions.copy(from: name, to: scratch)
            return rename(scratch, name) == 0 ? nil : SystemError().text
        }
        // Something else may have come into it.
        guard ArchiveOutput.isRecording(name) else { return SystemError(ENOTEMPTY).text }
        if let reason = KeptFiles(of: name).link(into: scratch) { return reason }
        // The rules of a recording are written once, and kept.
        let rules = (old: "\(name)/substitutions.yaml", new: "\(scratch)/substitutions.yaml")
        if ArchiveOutput.exists(rules.old, nil) {
            unlink(rules.new)
            // Not every file system has hard links.
            guard link(rules.old, rules.new) == 0 || ArchiveOutput.copy(rules.old, to: rules.new) else {
                return SystemError().text
            }
        }
        KeptPermissions.copy(from: name, to: scratch)
        KeptPermissions.copy(from: name + "/recording.yaml", to: scratch + "/recording.yaml")
        return exchange() ? nil : SystemError().text
    }

    /// - Returns: false with errno where that can't be done.
    private static func copy(_ path: String, to other: String) -> Bool {
        let most = 64 << 20
        var status = stat()
        do throws(SystemError) {
            let bytes = try FileReading.contents(of: path, upTo: most + 1)
            guard bytes.count <= most else { throw SystemError(EFBIG) }
            guard stat(path, &status) == 0 else { throw SystemError() }
            return LocalFile.make(other, bytes, mode: status.st_mode & 0o777)
        } catch {
            errno = error.code
            return false
        }
    }

    /// Gives a folder the place of the old one, which is removed.
    ///
    /// - Returns: false with errno where that can't be done.
    private func exchange() -> Bool {
        // Both change their names at once, so that there is a whole one at any time. (renameat2(2))
        if linux_exchange(scratch, name) == 0 {
            // What came into it at the last moment is not lost with it.
            guard ArchiveOutput.isRecording(scratch) else {
                if linux_exchange(scratch, name) != 0, rename(scratch, name) != 0 { rename(scratch, old) }
                errno = ENOTEMPTY
                return false
            }
            ArchiveOutput.remove(scratch)
            return true
        }
        // Not every file system can do that.
        ArchiveOutput.remove(old)
        guard rename(name, old) == 0 else { return false }
        guard ArchiveOutput.isRecording(old) else {
            rename(old, name)
            errno = ENOTEMPTY
            return false
        }
        guard rename(scratch, name) == 0 else {
            let code = errno
            rename(old, name)
            errno = code
            return false
        }
        ArchiveOutput.remove(old)
        return true
    }

    /// The name that the old one has between two renames.
    private var old: String { "\(scratch).old" }

    /// Removes what this user's programs that were killed have left of this archive: it has the number of a process
    /// that is gone, and is a day old, so that it is hardly another machine's. One beside which the old archive was
    /// left stays.
    private func removeLeftovers() {
        let folder = LocalFile.folder(of: name)
        let start = ".\(LocalFile.name(of: name))."
        for entry in FolderRemoval.names(in: folder) where entry.hasPrefix(start) && entry.hasSuffix(".part") {
            let number = pid_t(entry.dropFirst(start.count).dropLast(5))
            guard let number, number > 0, kill(number, 0) != 0, errno == ESRCH else { continue }
            let path = "\(folder)/\(entry)"
            var status = stat()
            guard lstat(path, &status) == 0, !ArchiveOutput.exists("\(path).old", nil) else { continue }
            guard status.st_uid == geteuid(), status.st_mtim.tv_sec < time(nil) - 86_400 else { continue }
            ArchiveOutput.remove(path)
        }
    }

    /// Removes what is of no use any more; errno stays as it is.
    private static func remove(_ path: String) {
        let code = errno
        defer { errno = code }
        FolderRemoval.remove(path)
    }
}
