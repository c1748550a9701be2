import Archives
import Basics
import Glibc

/// What of `files/` stays where another recording takes a recording's place: files that no entry of the old one names, and
/// those that the rules in `substitutions.yaml` name.
struct KeptFiles {
    private let folder: String
    private let rules: [UInt8]
    private let recorded: Set<String>

    /// - Parameter folder: the old recording's.
    init(of folder: String) {
        self.folder = folder
        rules = (try? FileReading.contents(of: folder + "/substitutions.yaml", upTo: 64 << 20)) ?? []
        let list = (try? FileReading.contents(of: folder + "/recording.yaml", upTo: 1 << 30)) ?? []
        // Of a list that can't be read nothing is known to be its own.
        recorded = RecordingWriter.files(list) ?? []
    }

    /// Gives them to another folder too, by hard links; a file of the name there gives way.
    ///
    /// - Returns: why one can't be; nil where all are.
    func link(into other: String) -> String? { link("files", into: other) }

    private func link(_ name: String, into other: String) -> String? {
        var status = stat()
        guard lstat("\(folder)/\(name)", &status) == 0 else {
            return errno == ENOENT ? nil : "\(name): \(SystemError().text)"
        }
        if status.st_mode & S_IFMT == S_IFDIR {
            guard access("\(folder)/\(name)", R_OK | X_OK) == 0 else { return "\(name): \(SystemError().text)" }
            for entry in FolderRemoval.names(in: "\(folder)/\(name)") {
                if let reason = link("\(name)/\(entry)", into: other) { return reason }
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
            if unlink(place) == 0, Glibc.link("\(folder)/\(name)", place) == 0 { return nil }
        }
        return "\(name): \(SystemError().text)"
    }

    /// Whether the rules' text has a name.
    private func isNamed(_ name: String) -> Bool {
        let name = Array(name.utf8)
        var rest = rules[...]
        while let start = rest.firstIndex(of: name[0]) {
            rest = rest[start...]
            if rest.starts(with: name) { return true }
            rest = rest.dropFirst()
        }
        return false
    }

    /// Makes the folders that a file is in, as they are in the old one.
    private func makeFolders(of name: String, in other: String) {
        for index in name.indices where name[index] == "/" {
            var status = stat()
            guard stat("\(folder)/\(name[..<index])", &status) == 0 else { return }
            mkdir("\(other)/\(name[..<index])", status.st_mode & 0o7777)
        }
    }
}
