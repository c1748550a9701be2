import Archives
import ForwardProxy
import Substitution

/// What archives have for a request, as `explain` prints it.
enum ArchiveLines {
    /// For people.
    static func lines(_ preview: ArchivePreview) -> [String] {
        if let found = preview.found {
            let entry = found.archive.table[found.number]
            var lines = ["\(found.position) answers with what was recorded"]
            lines.append("  entry: \(entry.method) \(String(decoding: entry.url, as: UTF8.self))")
            lines.append("  because \(why(found))")
            if found.candidates > 1 {
                lines.append(
                    found.archive.settings.isSequence
                        ? "  it is the first of \(found.candidates) that answer a client in turn"
                        : "  it always answers, of \(found.candidates) that could (sequence: false)")
            }
            return lines
        }
        guard let miss = preview.miss else { return [] }
        var lines = ["the archive \(miss.archive) has no entry for it (\(miss.reason.rawValue))"]
        if let unusable = miss.unusable { lines.append("  \(unusable)") }
        lines += miss.nearest.map(line)
        lines.append("  \(miss.advice)")
        return lines
    }

    /// The same where no archive has the URL's host.
    static func lines(elsewhere nearest: [ArchiveMiss.Nearest]) -> [String] {
        nearest.isEmpty ? [] : ["no archive is for its URL"] + nearest.map(line)
    }

    private static func line(_ nearest: ArchiveMiss.Nearest) -> String {
        "  nearest: \(nearest.position) \(nearest.url) (differs: \(nearest.differs.joined(separator: ", ")))"
    }

    private static func why(_ found: ArchivePreview.Found) -> String {
        guard !found.tolerance.isEmpty else { return "URL, method and body are the entry's" }
        return "it matches with tolerance: \(found.tolerance)"
    }

    // MARK: For programs

    static func json(_ found: ArchivePreview.Found) -> JSONObjectText {
        let entry = found.archive.table[found.number]
        var object = JSONObjectText()
        object.add("file", found.archive.archive.name)
        object.add("entry", found.number + 1)
        object.add("position", found.position)
        object.add("url", String(decoding: entry.url, as: UTF8.self))
        object.add("method", entry.method)
        object.add("how", found.step.kind)
        object.add("candidate", found.candidate)
        object.add("candidates", found.candidates)
        object.add("tolerance", found.tolerance)
        return object
    }

    static func json(_ nearest: ArchiveMiss.Nearest) -> JSONObjectText {
        var object = JSONObjectText()
        object.add("position", nearest.position)
        object.add("url", nearest.url)
        object.add("differs", nearest.differs)
        return object
    }
}
