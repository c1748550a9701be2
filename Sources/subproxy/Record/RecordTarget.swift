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
        let written = ".har, .warc, .warc.gz, or a folder"
        kind = try ArchiveOutput.kind(of: name, written: written)
        guard !kind.isPage else {
            throw CommandFailure(
                status: .usage, message: "'\(name)': a saved page is not recorded; what is, are \(written)")
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

    /// Whether that is a symbolic link, which may be replayed and not written.
    var isLink: Bool { FileStatus(file, followsLinks: false)?.isLink == true }

    /// The maps that answer from what is there: the rules first, and the list, where they don't name it.
    var maps: [String] { namesList ? [path] : [path, file] }

    /// Where it is written, and what is replayed of it.
    var places: [String] { maps + [ScratchRecording.path(of: self)] }

    /// The rules of a folder, which answer while it is recorded too; none where they aren't there.
    var rules: [String] {
        let file = path + "/substitutions.yaml"
        return kind.format == .recording && access(file, F_OK) == 0 ? [file] : []
    }

    /// Whether the rules of a folder, which may be older than what is recorded in it, name the list.
    var namesList: Bool {
        guard kind.format == .recording,
            let rules = try? FileReading.contents(of: path + "/substitutions.yaml", upTo: 64 << 20)
        else { return true }
        let name = Array("recording.yaml".utf8)
        return rules.indices.contains { rules[$0] == name[0] && rules[$0...].starts(with: name) }
    }

    // MARK: What is there

    /// A recording that is there.
    struct Found {
        let entries: Int
        /// What it is, whatever its name says.
        let format: ArchiveFormat
        /// Whether a recorder was killed in the midst of an entry; of the first one, where there are no entries.
        let isTorn: Bool
        /// Where the last entry of a HAR ends, in bytes; nil for others.
        var end: Int?
    }

    /// What is there; nil where there is nothing, or a recording that was just begun.
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
        let archive: Archive
        switch try read() {
        case .success(let opened): archive = opened
        case .failure(let problem):
            guard isCutInFirstEntry(problem) else { throw refusal(problem) }
            return Found(entries: 0, format: kind.format, isTorn: true)
        }
        guard archive.table.count > 0 || archive.format != kind.format else { return nil }
        guard archive.format == .har else {
            // A folder's writer mends it by itself; a WARC is looked at when something is to be added.
            return Found(entries: archive.table.count, format: archive.format, isTorn: false)
        }
        // In a zip places are others.
        let end = beginning(4) == [0x50, 0x4B, 3, 4] ? nil : Self.end(of: archive.table)
        let isTorn = archive.warnings.contains { $0.message.contains("the file ends too soon") }
        return Found(entries: archive.table.count, format: archive.format, isTorn: isTorn, end: end)
    }

    private static func end(of table: EntryTable) -> Int? {
        (0..<table.count).lazy.map { table[$0].place }.max { $0.offset < $1.offset }.map { $0.offset + $0.length }
    }

    private func read() throws(CommandFailure) -> Result<Archive, ArchiveProblem> {
        let opened: ArchiveFile
        do throws(MapFileError) {
            opened = try ArchiveFile(path: file)
        } catch {
            throw CommandFailure(status: .noInput, message: "the archive '\(name)' can't be read")
        }
        var input = ArchiveInput(opened, name: file)
        input.mayBeEmpty = true
        return Result { () throws(ArchiveProblem) in try Archive.open(input) }
    }

    private func refusal(_ problem: ArchiveProblem) -> CommandFailure {
        StandardStream.error.writeLine(problem.description(file: file))
        return CommandFailure(status: .dataError, message: "")
    }

    private func beginning(_ count: Int) -> [UInt8] {
        (try? FileReading.contents(of: file, upTo: count)).map { Array($0.prefix(count)) } ?? []
    }

    /// What a HAR begins with that this program writes.
    private static let ownStart = #"{"log":{"version":"1.2","creator":{"name":"subproxy","#

    /// Whether it is a HAR that this program has begun.
    private var isOwnHAR: Bool {
        kind.format == .har && beginning(Self.ownStart.utf8.count).elementsEqual(Self.ownStart.utf8)
    }

    /// Whether it is what a recorder of this program has left that was killed before its first entry was written.
    private func isCutInFirstEntry(_ problem: ArchiveProblem) -> Bool {
        switch kind.format {
        case .har:
            guard let bytes = try? FileReading.contents(of: file, upTo: 4096) else { return false }
            let isCut = problem.message.hasSuffix("has no entry that is complete")
            return isCut && bytes.starts(with: Self.ownStart.utf8.prefix(bytes.count))
        case .warc: return problem.message.hasPrefix("there is no record of a response") && isOwnWARC
        default: return false
        }
    }

    /// Whether it is a WARC that this program has begun, without damage, or so little of one that nothing is lost.
    private var isOwnWARC: Bool {
        guard var bytes = try? FileReading.contents(of: file, upTo: 4096), let tail = try? readTail(), tail != .unclear
        else {
            return false
        }
        let isShort = bytes.count < 1024 && tail == .torn(at: 0)
        if isCompressed { bytes = Self.decodedBeginning(bytes).bytes }
        let isOurs = String(decoding: bytes.prefix(1024), as: UTF8.self).contains("software: subproxy/")
        return bytes.starts(with: "WARC/1.1\r\nWARC-Type: warcinfo\r\n".utf8.prefix(bytes.count)) && (isOurs || isShort)
    }

    /// Where a WARC ends.
    private func readTail() throws(CommandFailure) -> WARCTail {
        do {
            let input = ArchiveInput(try ArchiveFile(path: file), name: file)
            return try WARCTail(input.bytes, isCompressed: isCompressed)
        } catch {
            throw CommandFailure(status: .noInput, message: "the archive '\(name)' can't be read")
        }
    }

    /// As much as there is of what begins a compressed file, and whether it came to an end.
    private static func decodedBeginning(_ bytes: [UInt8]) -> (bytes: [UInt8], isWhole: Bool) {
        var decoded: [UInt8] = []
        do throws(ArchiveProblem) {
            var stream = try ContentDecoder.stream(
                MemoryStream(bytes), codings: ["gzip"], storedBytes: bytes.count, limits: ArchiveLimits())
            while decoded.count < 4096, try stream.read(64, into: &decoded) {}
            return (decoded, true)
        } catch {
            return (decoded, false)
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
            // The first record alone has no more.
            guard bytes.count < 600 else { return false }
            let (record, isWhole) = isCompressed ? Self.decodedBeginning(bytes) : (bytes, true)
            return isWhole && record.starts(with: Array("WARC/1.1\r\nWARC-Type: warcinfo".utf8))
                && record.suffix(6).elementsEqual("\r\n\r\n\r\n".utf8)
        }
    }

    /// Cuts off what stands behind the last whole entry of a HAR, where a recorder was killed in the midst of one. What
    /// was cut off in its first entry is begun anew.
    func mend(_ found: Found) throws(CommandFailure) {
        guard found.entries > 0 else {
            _ = try cut(at: 0, [])
            return
        }
        // Another program may be about to write the rest.
        guard isOwnHAR, let end = found.end else {
            throw refusal("it is cut short; 'subproxy archive convert' makes a whole one of it")
        }
        say("ended in the midst of an entry, which is cut off: ", RecordingText.bytes(try cut(at: end, HARWriter.end)))
    }

    /// Has a WARC end behind a whole record, so that others can follow: all that is whole stays as it is.
    func mendWARC() throws(CommandFailure) {
        // Else it is refused for that.
        guard (beginning(2) == [0x1F, 0x8B]) == isCompressed else { return }
        switch try readTail() {
        case .whole: break
        case .torn(let place):
            say("ended in the midst of a record, which is cut off: ", RecordingText.bytes(try cut(at: place, [])))
        case .unterminated(let place, let missing):
            _ = try cut(at: place, missing)
            say("lacked the end of its last record, which is written: ", RecordingText.bytes(missing.count))
        case .unclear:
            throw refusal(
                "it is damaged, or ends where no record does; 'subproxy archive convert' makes one that can be added to"
            )
        }
    }

    private func say(_ what: String, _ count: String) {
        StandardStream.error.writeLine("subproxy: '\(name)' \(what)\(count)")
    }

    private func refusal(_ reason: String) -> CommandFailure {
        CommandFailure(status: .cantCreate, message: "'\(name)' can't be recorded: \(reason)")
    }

    /// Ends the file at a position.
    ///
    /// - Parameter tail: what is written there.
    /// - Returns: how many bytes were cut off.
    private func cut(at end: Int, _ tail: [UInt8]) throws(CommandFailure) -> Int {
        let descriptor = Glibc.open(file, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw refusal(SystemError().text) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, ftruncate(descriptor, off_t(end)) == 0,
            pwrite(descriptor, tail, tail.count, off_t(end)) == tail.count
        else { throw refusal(SystemError().text) }
        return max(0, Int(status.st_size) - end)
    }
}
