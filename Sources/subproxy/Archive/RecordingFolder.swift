import Basics
import Diagnostics
import Glibc

/// A folder that is a recording.
enum RecordingFolder {
    /// The archive that a name stands for: a folder's is its `recording.yaml`.
    static func archive(of name: String) -> String {
        var status = stat()
        guard stat(name, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return name }
        return file("recording.yaml", in: name)
    }

    /// Refuses a folder that an archive should be, and that has neither a recording nor a map; prints why.
    ///
    /// - Throws: ``CommandFailure`` with status 66.
    static func refuseOther(_ name: String) throws(CommandFailure) {
        guard isOther(name) else { return }
        StandardStream.error.writeLine(
            "\(visibleText(of: name.utf8)): error: the folder has neither substitutions.yaml nor recording.yaml")
        throw CommandFailure(status: .noInput, message: "")
    }

    private static func isOther(_ name: String) -> Bool {
        var status = stat()
        guard stat(name, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return false }
        return access(file("recording.yaml", in: name), F_OK) != 0
            && access(file("substitutions.yaml", in: name), F_OK) != 0
    }

    /// Whether a path leads to a file of a recording, or to the place of one: its list, its rules, or anything in
    /// `files`.
    ///
    /// - Parameter recording: its folder, or its list.
    static func hasPart(_ path: String, in recording: String) -> Bool {
        let isList = LocalFile.name(of: recording) == "recording.yaml"
        let recording = isList ? LocalFile.folder(of: recording) : recording
        guard let top = FileStatus(recording), top.isFolder else { return false }
        let bodies = file("files", in: recording)
        let lists = ["recording.yaml", "substitutions.yaml"]
        guard let status = FileStatus(path) else {
            let path = LocalFile.place(of: path)
            let isOfLists = lists.contains { $0 == LocalFile.name(of: path) }
            let folder = LocalFile.folder(of: path)
            return isOfLists && top.isSame(as: FileStatus(folder)) || isBelow(bodies, folder)
        }
        if lists.contains(where: { status.isSame(as: FileStatus(file($0, in: recording))) }) { return true }
        return isBelow(bodies, path) || status.isFile && status.hasOtherNames && hasName(status, below: bodies)
    }

    /// Whether a path leads to a folder, or to something below it.
    private static func isBelow(_ folder: String, _ path: String) -> Bool {
        guard let folder = FileStatus(folder), let real = realpath(path, nil) else { return false }
        defer { free(real) }
        var path = String(cString: real)
        while path != "/" {
            if folder.isSame(as: FileStatus(path)) { return true }
            path = LocalFile.folder(of: path)
        }
        return false
    }

    /// Whether a file has a name below a folder too. Links to folders are not gone into: they may lead back.
    private static func hasName(_ status: FileStatus, below folder: String) -> Bool {
        FolderRemoval.names(in: folder).contains { name in
            let path = file(name, in: folder)
            if status.isSame(as: FileStatus(path)) { return true }
            return FileStatus(path, followsLinks: false)?.isFolder == true && hasName(status, below: path)
        }
    }

    private static func file(_ file: String, in folder: String) -> String {
        folder.hasSuffix("/") ? folder + file : folder + "/" + file
    }
}
