import Archives
import Basics
import ForwardProxy
import Glibc
import Substitution

/// What was answered and missed, as it is written at the end.
struct ReplayReportText {
    private let report: ReplayReport
    private let map: SubstitutionMap

    init(_ report: ReplayReport, _ map: SubstitutionMap) {
        self.report = report
        self.map = map
    }

    /// Looks whether a report could be written, before anything is run that it is to be about.
    ///
    /// - Parameter others: the paths of what is replayed or recorded, in whose place it must not be written; of folders
    ///   the files of the recording.
    /// - Throws: ``CommandFailure`` with status 73 where it can't, and 64 where it has no name, or that of another.
    static func check(_ file: String, others: [String]) throws(CommandFailure) {
        guard file != "-" else { return }
        guard !file.isEmpty else {
            throw CommandFailure(status: .usage, message: "--report is empty; it names a file, as in: --report r.json")
        }
        if let other = others.first(where: { isSame($0, file) || RecordingFolder.hasPart(file, in: $0) }) {
            throw CommandFailure(
                status: .usage, message: "the report '\(file)' would be written over '\(other)'; name another file")
        }
        var status = stat()
        var reason: String?
        if stat(file, &status) != 0 {
            let error = SystemError()
            let place = LocalFile.place(of: file)
            reason = error.code == ENOENT ? LocalFile.unwritableReason(folderOf: place) : error.text
        } else if status.st_mode & S_IFMT == S_IFDIR {
            reason = SystemError(EISDIR).text
        } else if access(file, W_OK) != 0 {
            reason = SystemError().text
        }
        guard let reason else { return }
        throw CommandFailure(status: .cantCreate, message: "the report '\(file)' can't be written: \(reason)")
    }

    /// Whether two paths lead to one file, or would.
    private static func isSame(_ path: String, _ other: String) -> Bool {
        guard let first = FileStatus(path), let second = FileStatus(other) else {
            // One of them is not there yet: then it would be in the same folder, by the same name.
            let (path, other) = (LocalFile.place(of: path), LocalFile.place(of: other))
            guard let folder = FileStatus(LocalFile.folder(of: path)) else { return path == other }
            return folder.isSame(as: FileStatus(LocalFile.folder(of: other)))
                && LocalFile.name(of: path) == LocalFile.name(of: other)
        }
        return first.isFile && first.isSame(as: second)
    }

    /// Writes it to a file that only its owner may read, since it has whole URLs; text on standard error for `-`.
    ///
    /// - Returns: what to exit with where it could not be written, and a message has said why; else nil.
    func write(to file: String) -> ExitStatus? {
        guard file != "-" else { return StandardStream.error.writeLine(text) ? nil : .ioError }
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600 as mode_t)
        guard descriptor >= 0 else { return refuse(file, .cantCreate) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return refuse(file, .cantCreate) }
        // A device stays everybody's.
        if status.st_mode & S_IFMT == S_IFREG, fchmod(descriptor, 0o600) != 0, errno != EPERM {
            return refuse(file, .cantCreate)
        }
        var bytes = Array((json + "\n").utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return refuse(file, .ioError) }
            bytes = bytes.dropFirst(written)
        }
        return nil
    }

    private func refuse(_ file: String, _ status: ExitStatus) -> ExitStatus {
        StandardStream.error.writeLine("subproxy: error: the report '\(file)' can't be written: \(SystemError().text)")
        return status
    }

    // MARK: Forms

    private struct Archive {
        let file: String
        let entries: Int
        let usable: Int
        let answered: Int
        let unused: [String]
    }

    private var archives: [Archive] {
        map.archives.map { archive in
            let answered = report.answered(archive, others: map.archives)
            let usable = (0..<archive.table.count).filter { archive.table[$0].isUsable && archive.isCounted($0) }
            return Archive(
                file: archive.archive.name, entries: archive.entryCounts.all, usable: usable.count,
                answered: answered.count, unused: usable.filter { !answered.contains($0) }.map(archive.position))
        }
    }

    var json: String {
        var object = JSONObjectText()
        object.add(
            "archives",
            archives.map { archive in
                var member = JSONObjectText()
                member.add("file", archive.file)
                member.add("entries", archive.entries)
                member.add("usable", archive.usable)
                member.add("answered", archive.answered)
                member.add("unused", archive.unused)
                return member
            })
        var answers = JSONObjectText()
        for kind in ["exact", "tolerant", "nearest"] { answers.add(kind, report.answers(kind)) }
        object.add("answers", answers)
        let (misses, more) = report.misses
        object.add("misses", misses.map(json))
        if more > 0 { object.add("more", more) }
        return object.text
    }

    private func json(_ miss: ReplayReport.Miss) -> JSONObjectText {
        var object = JSONObjectText()
        object.add("method", miss.method)
        object.add("url", miss.url)
        object.add("count", miss.count)
        object.add("reason", miss.reason)
        object.add(
            "nearest",
            miss.nearest.map { nearest in
                var object = JSONObjectText()
                object.add("position", nearest.position)
                object.add("url", nearest.url)
                object.add("differs", nearest.differs)
                return object
            })
        return object
    }

    /// For people.
    var text: String {
        var lines = archives.map { archive in
            "\(archive.file): \(archive.answered) of \(countedEntries(archive.usable)) answered"
        }
        let kinds = ["exact", "tolerant", "nearest"].map { "\(report.answers($0)) \($0)" }
        lines.append("answers: \(kinds.joined(separator: ", "))")
        let (misses, more) = report.misses
        lines.append("misses: \(report.missCount)")
        for miss in misses {
            let count = miss.count > 1 ? " × \(miss.count)" : ""
            lines.append("  \(miss.method) \(miss.url) (\(miss.reason))\(count)")
            if let unusable = miss.unusable { lines.append("    \(unusable)") }
            for nearest in miss.nearest {
                lines.append(
                    "    nearest \(nearest.position) \(nearest.url) (\(nearest.differs.joined(separator: ", ")))")
            }
        }
        if more > 0 { lines.append("  and \(more) more") }
        // What can be done, once for each reason.
        var told: Set<String> = []
        for miss in misses where told.insert(miss.advice).inserted { lines.append("(\(miss.reason)) \(miss.advice)") }
        return lines.joined(separator: "\n")
    }
}
