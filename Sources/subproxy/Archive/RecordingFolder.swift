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

    private static func file(_ file: String, in folder: String) -> String {
        folder.hasSuffix("/") ? folder + file : folder + "/" + file
    }
}
