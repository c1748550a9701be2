import Archives
import Basics
import Glibc
import Recorder
import Substitution

/// Where a recording goes, and what is there.
struct RecordTarget {
    /// As its user wrote it, a folder with `/` at its end.
    let name: String
    /// Without `/` at its end.
    let path: String
    let kind: ArchiveKind
    private let isCompressed: Bool

    /// - Throws: ``CommandFailure`` with status 64 for a kind that is not recorded.
    init(_ name: String) throws(CommandFailure) {
        kind = try ArchiveOutput.kind(of: name)
        guard !kind.isPage else {
            throw CommandFailure(
                status: .usage,
                message: "'\(name)': a saved page is not recorded; what is, are .har, .warc, .warc.gz, or a folder")
        }
        var path = name
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
        self.name = kind.format == .recording && path != "/" ? path + "/" : path
        isCompressed = kind.extensions.contains("warc.gz")
    }

    /// What the recorder writes, at this path or another.
    func output(at path: String) -> RecorderOptions.Output {
        switch kind.format {
        case .har: .har(path)
        case .warc: .warc(path, isCompressed: isCompressed)
        default: .folder(path)
        }
    }

    /// The file that has the entries.
    var file: String { kind.format == .recording ? path + "/recording.yaml" : path }

    // MARK: What is there

    /// A recording that is there.
    struct Found {
        let entries: Int
        /// Whether a recorder was killed in the midst of an entry.
        let isTorn: Bool
    }

    /// What is there; nil where there is nothing, or a recording without an entry.
    ///
    /// - Throws: ``CommandFailure`` where it can't be read, or is no archive.
    func find() throws(CommandFailure) -> Found? {
        var status = stat()
        guard stat(file, &status) == 0 else {
            guard errno == ENOENT else {
                throw CommandFailure(
                    status: .noInput, message: "the archive '\(name)' can't be read: \(SystemError().text)")
            }
            return nil
        }
        guard status.st_size > 0, !isBegun else { return nil }
        let archive = try open()
        guard archive.table.count > 0 else { return nil }
        // A folder's writer mends it by itself.
        let isTorn = kind.format != .recording && archive.warnings.contains { $0.message.contains("cut short") }
        return Found(entries: archive.table.count, isTorn: isTorn)
    }

    private func open() throws(CommandFailure) -> Archive {
        let opened: ArchiveFile
        do throws(MapFileError) {
            opened = try ArchiveFile(path: file)
        } catch {
            throw CommandFailure(status: .noInput, message: "the archive '\(name)' can't be read")
        }
        do throws(ArchiveProblem) {
            return try Archive.open(ArchiveInput(opened, name: file))
        } catch {
            StandardStream.error.writeLine(error.description(file: file))
            throw CommandFailure(status: .dataError, message: "")
        }
    }

    /// Whether it is as a recorder begins it, without an entry.
    private var isBegun: Bool {
        guard let bytes = try? FileReading.contents(of: file, upTo: 1024) else { return false }
        switch kind.format {
        case .har:
            return bytes.starts(with: Array(#"{"log":{"version":"1.2","creator":{"#.utf8))
                && bytes.suffix(HARWriter.end.count + 1).elementsEqual([UInt8(ascii: "[")] + HARWriter.end)
        case .recording:
            return bytes.count < 1024 && !bytes.split(separator: 0x0A).contains { $0.first != UInt8(ascii: "#") }
        default:
            guard !isCompressed else {
                // The first record alone has no more.
                return bytes.count < 400 && bytes.starts(with: [0x1F, 0x8B])
            }
            return bytes.starts(with: Array("WARC/1.1\r\nWARC-Type: warcinfo".utf8)) && bytes.count < 600
        }
    }

    /// Writes anew what is there, entry by entry, in the form in which a recorder appends: after a recorder was killed in
    /// the midst of an entry, and for files of other programs.
    func rewrite() throws {
        let archive = try open()
        var status = stat()
        // What was for its owner alone stays so: it may have what is taken out elsewhere.
        let isPrivate = stat(file, &status) == 0 && status.st_mode & 0o077 == 0
        let mask = umask(0o077)
        if !isPrivate { umask(mask) }
        defer { umask(mask) }
        let output = try ArchiveOutput(path, kind, replaces: true)
        let conversion = Conversion([archive], redaction: nil)
        var plan = ConversionPlan(
            program: "subproxy", version: programVersion, time: Int64(clamping: wallNanoseconds() / 1_000_000))
        plan.pages = conversion.pages
        _ = try output.write { path throws(ConversionFailure) in try conversion.write(kind, to: path, plan) }
    }
}
