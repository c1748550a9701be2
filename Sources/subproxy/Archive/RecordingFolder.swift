import Glibc

/// A folder that is a recording.
enum RecordingFolder {
    /// The archive that a name stands for: a folder's is its `recording.yaml`.
    static func archive(of name: String) -> String {
        var status = stat()
        guard stat(name, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return name }
        return name.hasSuffix("/") ? name + "recording.yaml" : name + "/recording.yaml"
    }
}
