import Archives
import Basics
import Glibc
import Substitution

/// What of `files/` stays where another recording takes a recording's place: files that no entry of the old one names,
/// and those that the rules in `substitutions.yaml`, and in maps that it includes, name, by themselves or by their
/// folder.
struct KeptFiles {
    private let folder: String
    /// The texts of these maps, from each name in `files/` on.
    private let mentions: [ArraySlice<UInt8>]
    private let recorded: Set<String>

    /// - Parameter folder: the old recording's.
    init(of folder: String) {
        self.folder = folder
        let map = folder + "/substitutions.yaml"
        // Of maps whose files are not known for errors, the first one alone.
        let loaded = access(map, F_OK) == 0 ? SubstitutionMap.load(files: [map]) : nil
        let maps = (loaded?.map ?? loaded?.remainder)?.files ?? [map]
        mentions = maps.flatMap { KeptFiles.mentions(in: (try? FileReading.contents(of: $0, upTo: 64 << 20)) ?? []) }
        // Of a list that can't be read nothing is known to be its own.
        recorded = KeptFiles.recorded(in: folder)
    }

    /// The files that a recording's list names.
    private static func recorded(in folder: String) -> Set<String> {
        RecordingWriter.files((try? FileReading.contents(of: folder + "/recording.yaml", upTo: 1 << 30)) ?? []) ?? []
    }

    /// Gives them to another folder too, by hard links; a file of the name there gives way, unless it is one that has
    /// been recorded there.
    ///
    /// - Returns: why one can't be; nil where all are.
    func link(into other: String) -> String? { link("files", into: other, KeptFiles.recorded(in: other)) }

    private func link(_ name: String, into other: String, _ new: Set<String>) -> String? {
        var status = stat()
        guard lstat("\(folder)/\(name)", &status) == 0 else {
            return errno == ENOENT ? nil : "\(name): \(SystemError().text)"
        }
        if status.st_mode & S_IFMT == S_IFDIR {
            guard access("\(folder)/\(name)", R_OK | X_OK) == 0 else { return "\(name): \(SystemError().text)" }
            for entry in FolderRemoval.names(in: "\(folder)/\(name)") {
                if let reason = link("\(name)/\(entry)", into: other, new) { return reason }
            }
            return nil
        }
        guard !recorded.contains(name) || isNamed(name) else { return nil }
        makeFolders(of: name, in: other)
        let place = "\(other)/\(name)"
        if Glibc.link("\(folder)/\(name)", place) == 0 { return nil }
        var there = stat()
        if errno == EEXIST, lstat(place, &there) == 0 {
            if there.st_ino == status.st_ino, there.st_dev == status.st_dev { return nil }
            if new.contains(name) { return "\(name) is to stay, and was recorded anew" }
            if unlink(place) == 0, Glibc.link("\(folder)/\(name)", place) == 0 { return nil }
        }
        return "\(name): \(SystemError().text)"
    }

    private static func mentions(in text: [UInt8]) -> [ArraySlice<UInt8>] {
        text.ranges(of: Array("files/".utf8)).map { text[$0.lowerBound...] }
    }

    /// Whether the rules' texts have the name of a file, or that of a folder that it is in, which ends there.
    private func isNamed(_ name: String) -> Bool {
        let name = Array(name.utf8)
        let folders = name.indices.filter { name[$0] == UInt8(ascii: "/") }
        return mentions.contains { text in
            var common = 0
            for (byte, other) in zip(text, name) {
                guard byte == other else { break }
                common += 1
            }
            if common == name.count { return true }
            let next = text.dropFirst(common).first
            // A capture stands for the rest of a name, or of its folder's.
            if let top = folders.first, common > top, next == UInt8(ascii: "$") { return true }
            // `files/a`, or `files/a/`, and nothing of a name behind it; `files` alone may be any word.
            let isFolder = folders.contains(common - 1) || folders.dropFirst().contains(common)
            return isFolder && next.map(KeptFiles.endsName) ?? true
        }
    }

    /// Whether a byte of a map stands behind a file's name: white space, a quote, what divides a mapping in braces, or
    /// the `$` of a capture, which stands for the rest of the name.
    private static func endsName(_ byte: UInt8) -> Bool { byte <= 0x20 || "\"',}]#$".utf8.contains(byte) }

    /// Makes the folders that a file is in, as they are in the old one.
    private func makeFolders(of name: String, in other: String) {
        for index in name.indices where name[index] == "/" {
            var status = stat()
            guard stat("\(folder)/\(name[..<index])", &status) == 0 else { return }
            mkdir("\(other)/\(name[..<index])", status.st_mode & 0o7777)
        }
    }
}
