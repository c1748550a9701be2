import Basics
import Glibc

/// The files of a recording's folder, as they are written: one writer at a time.
final class RecordingFiles {
    private let path: String
    private let folder: CInt
    /// The mode of new files: 0600 where they may have credentials.
    private let mode: mode_t
    private let folderMode: mode_t
    /// The list of entries, once it has been opened.
    private(set) var list: CInt = -1
    /// The bytes of the list, as it was written or read last.
    private(set) var listSize = 0
    /// The folder of the bodies, once one has been written into it.
    private var bodies: stat?
    private static let scratch = ".recording-part"
    private static let bodies = "files"

    /// Opens a folder, which is made if there is none.
    init(_ path: String, isPrivate: Bool) throws(SystemError) {
        self.path = path
        mode = isPrivate ? 0o600 : 0o666
        folderMode = isPrivate ? 0o700 : 0o777
        if mkdir(path, folderMode) != 0, errno != EEXIST { throw SystemError() }
        folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw SystemError() }
    }

    deinit {
        close(folder)
        if list >= 0 { close(list) }
    }

    /// Makes a file with these bytes, unless there is one; nothing is left of one that can't be written whole.
    func make(_ name: String, _ bytes: [UInt8]) throws(SystemError) {
        let descriptor = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else {
            if errno == EEXIST { return }
            throw SystemError()
        }
        defer { close(descriptor) }
        do throws(SystemError) {
            try RecordingFiles.write(bytes, to: descriptor)
        } catch {
            unlinkat(folder, name, 0)
            throw error
        }
    }

    /// Opens the list of entries, which is made if there is none, and locks it.
    ///
    /// - Throws: EWOULDBLOCK where another writer has it.
    func openList(_ name: String) throws(SystemError) {
        list = try LockedFile.open(name, in: folder, flags: O_RDWR | O_CREAT | O_APPEND, mode: mode)
        // What a writer that was killed has left, and not what one that is at it needs.
        discard()
    }

    /// Whether the list is still the one that has this name in the folder at its path, and not empty, and so is the
    /// folder of the bodies.
    func hasList(_ name: String) throws(SystemError) -> Bool {
        guard try LockedFile.hasName(list, path + "/" + name) else { return false }
        var status = stat()
        guard fstat(list, &status) == 0 else { throw SystemError() }
        // A person may edit it, but not take all of it away.
        guard status.st_size > 0 || listSize == 0 else { return false }
        guard let bodies else { return true }
        guard fstatat(folder, RecordingFiles.bodies, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            guard errno == ENOENT else { throw SystemError() }
            return false
        }
        return status.st_ino == bodies.st_ino && status.st_dev == bodies.st_dev
    }

    /// Learns which folder the bodies are in, the first time.
    private func noteBodies() {
        var status = stat()
        guard bodies == nil, fstatat(folder, RecordingFiles.bodies, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return }
        bodies = status
    }

    /// Makes the list one for its owner alone, where new files are; what is appended has all that was sent.
    func protectList() { if mode == 0o600 { fchmod(list, mode) } }

    /// Learns how long the list is.
    func noteListSize() throws(SystemError) {
        var status = stat()
        guard fstat(list, &status) == 0 else { throw SystemError() }
        listSize = Int(status.st_size)
    }

    /// Whether the list, which has so many bytes, ends within a line.
    func listEndsWithinLine(_ size: Int) -> Bool {
        var last: UInt8 = 0x0A
        return size > 0 && pread(list, &last, 1, off_t(size - 1)) == 1 && last != 0x0A
    }

    /// Takes away what stands in the list from a position on.
    func cutList(at position: Int) throws(SystemError) {
        guard ftruncate(list, off_t(position)) == 0 else { throw SystemError() }
    }

    // MARK: Bodies

    /// What has become of giving a file its name.
    enum Naming {
        case done
        /// Something has the name.
        case isTaken
        /// What stands at this path, where a folder should, is none.
        case obstructed([UInt8])
    }

    /// Begins a file that has no name of its own yet.
    func begin() throws(SystemError) -> CInt {
        let descriptor = openat(
            folder, RecordingFiles.scratch, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else { throw SystemError() }
        return descriptor
    }

    /// Gives the file that was begun its name; its folders are made.
    ///
    /// - Returns: what has become of it.
    func finish(as path: [UInt8]) throws(SystemError) -> Naming {
        let place: RecordingPlace
        switch try RecordingPlace.find(path, in: folder, making: folderMode) {
        case .place(let found): place = found
        case .obstructed(let path): return .obstructed(path)
        }
        noteBodies()
        if linkat(folder, RecordingFiles.scratch, place.folder, place.name, 0) == 0 {
            discard()
            return .done
        }
        if errno == EEXIST { return .isTaken }
        // A file system without links. (link(2))
        guard errno == EPERM || errno == ENOTSUP || errno == EMLINK else { throw SystemError() }
        var status = stat()
        if fstatat(place.folder, place.name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return .isTaken }
        guard renameat(folder, RecordingFiles.scratch, place.folder, place.name) == 0 else { throw SystemError() }
        return .done
    }

    /// Gives a file that has no name one in the recording; its folders are made.
    ///
    /// - Returns: what has become of it; nil where the file can't have any.
    func link(_ descriptor: CInt, as path: [UInt8]) throws(SystemError) -> Naming? {
        let place: RecordingPlace
        switch try RecordingPlace.find(path, in: folder, making: folderMode) {
        case .place(let found): place = found
        case .obstructed(let path): return .obstructed(path)
        }
        noteBodies()
        let source = "/proc/self/fd/\(descriptor)"
        if linkat(AT_FDCWD, source, place.folder, place.name, AT_SYMLINK_FOLLOW) == 0 { return .done }
        switch errno {
        case EEXIST: return .isTaken
        // It had a name once, is on another file system, or on one without links; or there is no /proc.
        case ENOENT, EXDEV, EPERM, EACCES, ENOTSUP, EMLINK: return nil
        default: throw SystemError()
        }
    }

    /// Takes away the file that was begun.
    func discard() { unlinkat(folder, RecordingFiles.scratch, 0) }

    /// Whether the folder of the bodies is there and is none: a link, through which nothing is written.
    var hasOtherFiles: Bool {
        var status = stat()
        return fstatat(folder, RecordingFiles.bodies, &status, AT_SYMLINK_NOFOLLOW) == 0
            && status.st_mode & S_IFMT != S_IFDIR
    }

    /// Opens a file for reading; nil where there is none.
    func open(_ path: [UInt8]) -> CInt? {
        let name = String(decoding: path, as: UTF8.self)
        let descriptor = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        return descriptor >= 0 ? descriptor : nil
    }

    /// Reads a file whole; nil where there is none.
    func contents(_ path: [UInt8], limit: Int) -> [UInt8]? {
        guard let descriptor = open(path) else { return nil }
        defer { close(descriptor) }
        return try? FileReading.contents(of: descriptor, upTo: limit)
    }

    /// The bytes of a file; nil where there is none.
    func size(_ path: [UInt8]) -> Int? {
        var status = stat()
        let name = String(decoding: path, as: UTF8.self)
        guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        return Int(status.st_size)
    }

    /// Writes all of some bytes.
    static func write(_ bytes: [UInt8], to descriptor: CInt) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.write(descriptor, buffer.baseAddress.map { $0 + written }, buffer.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw count == 0 ? SystemError(ENOSPC) : SystemError() }
            written += count
        }
    }
}
