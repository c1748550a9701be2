public import Archives
import Files
import Glibc
import Synchronization

/// An archive's file that is open: what is read from it stays that of the file which was opened, whatever takes its
/// place.
public final class ArchiveFile: Sendable {
    private let file: OpenFile
    private let folder: FolderRoot
    /// Whether it was read once, as standard input can be: then nothing else has it any more.
    let isStream: Bool
    /// The files beside it that were asked for, by their paths below its folder, with the hashes of their states then;
    /// nil for those that weren't there.
    private let siblings = Mutex<[String: Int?]>([:])
    /// Of more files than these nobody is told when they change: watching one takes some 500 bytes.
    static let mostWatched = 10_000

    /// Opens a file; links on the way are followed.
    ///
    /// - Throws: ``MapFileError`` where it can't be opened, or is no regular file.
    public init(path: String) throws(MapFileError) {
        let folder = PathText.folder(of: path)
        self.folder = FolderRoot(path: folder.isEmpty ? "." : folder)
        isStream = false
        do throws(FileRefusal) { file = try OpenFile(following: path) } catch { throw MapFileError(error) }
    }

    /// What was read of something that can be read only once.
    ///
    /// - Parameter folder: where the files are that it names.
    /// - Throws: ``MapFileError`` where there is no memory for it.
    init(contents: [UInt8], folder: String) throws(MapFileError) {
        self.folder = FolderRoot(path: folder)
        isStream = true
        do throws(FileRefusal) { file = try OpenFile(holding: contents) } catch { throw MapFileError(error) }
    }

    /// The same, for another reading of it: the files that it names are as they are now.
    init(again other: ArchiveFile) throws(MapFileError) {
        folder = FolderRoot(path: other.folder.path)
        isStream = other.isStream
        do throws(FileRefusal) { file = try OpenFile(again: other.file) } catch { throw MapFileError(error) }
    }

    public var bytes: ArchiveBytes { ArchiveFile.bytes(of: file, keeping: self) }

    /// Whether the file has not been changed since it was opened.
    public var isUnchanged: Bool { ArchiveFile.isUnchanged(file) }

    private static func isUnchanged(_ file: borrowing OpenFile) -> Bool {
        guard let now = try? file.currentIdentity() else { return false }
        return now.size == file.identity.size && now.modified == file.identity.modified
    }

    /// Whether the file is no shorter than when it was opened.
    var isGrown: Bool { (try? file.currentIdentity()).map { $0.size >= file.identity.size } ?? false }

    /// The state of the file that was opened.
    var identity: FileIdentity { file.identity }

    /// A text that no other body of the archive has, and not this one where its file has changed: what names one that
    /// is not read whole.
    public func state(of number: Int, _ body: RecordedBody) -> String {
        let codings = body.codings.isEmpty ? "" : " without \(body.codings.joined(separator: " "))"
        return "\(body.fileState ?? ArchiveFile.state(identity)) \(number)\(codings)"
    }

    /// A text that differs for each state of each file.
    static func state(_ identity: FileIdentity) -> String {
        let times = "\(text(identity.modified)) \(text(identity.changed))"
        return "\(identity.device) \(identity.inode) \(identity.size) \(times)"
    }

    private static func text(_ time: FileTime) -> String { "\(time.seconds).\(time.nanoseconds)" }

    /// Opens a file below the archive's folder, without links on the way. It can't be read any more once it is changed
    /// in place: what is made of its bytes has them all of one state.
    func sibling(_ path: String) -> ArchiveBytes? {
        let opened = open(path)
        siblings.withLock { siblings in
            if siblings[path] == nil { siblings[path] = .some(opened?.file.identity.hashValue) }
        }
        guard let sibling = opened else { return nil }
        let identity = sibling.file.identity
        return ArchiveBytes(count: identity.size, version: ArchiveFile.state(identity)) { buffer, offset in
            guard let count = try? sibling.file.read(at: offset, into: buffer), ArchiveFile.isUnchanged(sibling.file)
            else { return -1 }
            return count
        }
    }

    /// Whether a path below its folder is a symbolic link, or leads through one.
    func isLink(_ path: String) -> Bool {
        do throws(FileRefusal) {
            _ = try folder.open(Array(path.utf8))
            return false
        } catch {
            return error == .symbolicLink
        }
    }

    private func open(_ path: String) -> Sibling? {
        guard let opened = try? folder.open(Array(path.utf8)) else { return nil }
        return Sibling(opened)
    }

    /// The absolute paths of the files beside it that were asked for, of ten thousand at most.
    var siblingPaths: [String] {
        siblings.withLock { $0.keys.sorted() }.prefix(ArchiveFile.mostWatched).map { PathText.joined(folder.path, $0) }
    }

    /// Whether all of these, the watched ones and the others, are as they were when they were asked for first.
    ///
    /// - Parameter arePinned: whether those that were there may have changed since, or gone.
    func hasSameSiblings(arePinned: Bool) -> Bool {
        siblings.withLock { $0 }.allSatisfy { path, state in
            arePinned && state != nil || open(path)?.file.identity.hashValue == state
        }
    }

    private final class Sibling: Sendable {
        let file: OpenFile
        init(_ file: consuming OpenFile) { self.file = file }
    }

    private static func bytes(of file: borrowing OpenFile, keeping owner: ArchiveFile) -> ArchiveBytes {
        ArchiveBytes(count: file.identity.size) { buffer, offset in
            (try? owner.file.read(at: offset, into: buffer)) ?? -1
        }
    }
}

extension MapFileError {
    fileprivate init(_ refusal: FileRefusal) {
        switch refusal {
        case .notFound: self = .missing
        case .notRegularFile(.directory): self = .isFolder
        case .notRegularFile: self = .isNoRegularFile
        case .permissionDenied: self = .unreadable
        case .tooManyOpenFiles: self = .system(EMFILE)
        case .changing: self = .system(EAGAIN)
        case .io(let code): self = .system(code)
        case .symbolicLink: self = .system(ELOOP)
        case .outsideRoot, .invalidName: self = .system(ENAMETOOLONG)
        }
    }
}

extension ArchiveInput {
    /// The input that an open file is.
    public init(_ file: ArchiveFile, name: String) {
        self.init(name: name, bytes: file.bytes, sibling: { file.sibling($0) }, isLink: { file.isLink($0) })
    }
}

/// The state of a file, and what the map and the command line say of it: where that is the same, the archive is.
struct ArchiveOrigin: Equatable {
    let path: String
    let identity: FileIdentity
    let settings: ArchiveSettings
    let defaults: ArchiveDefaults
}

/// Opens the archives that maps name, those of before again where nothing of them has changed.
struct ArchiveOpening {
    let defaults: ArchiveDefaults
    let known: [MapArchive]
    let progress: @Sendable (_ name: String, _ read: Int, _ size: Int) -> Void

    /// - Parameters:
    ///   - name: as its user wrote it.
    ///   - path: absolute; of what was read once, its name.
    ///   - read: what was read once; nil for what has the path.
    ///   - tried: told of the files in one of which an error may be: the archive, and those that it names.
    /// - Returns: The archive; nil where it has an error, which `report` was told.
    func open(
        _ name: String, path: String, _ settings: ArchiveSettings, read: ArchiveFile? = nil,
        tried: ([String]) -> Void, report: (ArchiveProblem) -> Void
    ) throws(MapFileError) -> MapArchive? {
        let file: ArchiveFile
        if let read { file = try ArchiveFile(again: read) } else { file = try ArchiveFile(path: path) }
        let origin = ArchiveOrigin(path: path, identity: file.identity, settings: settings, defaults: defaults)
        if let same = known.first(where: { $0.origin == origin && $0.hasSameSiblings }) {
            for warning in same.archive.warnings { report(warning) }
            return same
        }
        var input = ArchiveInput(file, name: name)
        input.limits = defaults.limits
        input.mayBeEmpty = defaults.isAppended
        let size = input.bytes.count
        let progress = progress
        input.progress = { progress(name, $0, size) }
        do throws(ArchiveProblem) {
            let archive = try Archive.open(input)
            for warning in archive.warnings { report(warning) }
            if archive.furtherWarnings > 0 {
                report(ArchiveProblem(.warning, "\(archive.furtherWarnings) further warnings are not shown"))
            }
            return MapArchive(
                archive, file, origin,
                // A recording's list is in memory.
                isUnchanged: { [defaults] in
                    archive.format == .recording || (defaults.isAppended ? file.isGrown : file.isUnchanged)
                })
        } catch {
            tried((file.isStream ? [] : [path]) + file.siblingPaths)
            report(error)
            return nil
        }
    }
}
