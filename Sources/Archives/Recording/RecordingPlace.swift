import Basics
import Glibc

/// Where a file of a recording is to stand: an open folder, and a name in it.
///
/// Whoever gives a recording away may have put links into it. So no path is handed to the system: each folder is opened
/// in the one that it is in, and none that is a link (openat(2), O_NOFOLLOW).
final class RecordingPlace {
    enum Result {
        case place(RecordingPlace)
        /// What stands at this path, where a folder should, is none.
        case obstructed([UInt8])
    }

    /// O_PATH, which Glibc's module leaves out.
    private static let asPath = CInt(0o10_000_000)

    let folder: CInt
    let name: String

    private init(_ folder: CInt, _ name: String) {
        self.folder = folder
        self.name = name
    }

    deinit { close(folder) }

    /// Opens the folder of a file.
    ///
    /// - Parameters:
    ///   - path: below the recording's folder.
    ///   - mode: that of folders that are made; nil where none is to be.
    static func find(_ path: [UInt8], in root: CInt, making mode: mode_t?) throws(SystemError) -> Result {
        var folder = openat(root, ".", RecordingPlace.asPath | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw SystemError() }
        var start = path.startIndex
        while let end = path[start...].firstIndex(of: UInt8(ascii: "/")) {
            let name = String(decoding: path[start..<end], as: UTF8.self)
            let next = open(name, in: folder, making: mode)
            let error = SystemError()
            close(folder)
            guard next >= 0 else {
                guard error.code == ENOTDIR || error.code == ELOOP else { throw error }
                return .obstructed(Array(path[..<end]))
            }
            folder = next
            start = end + 1
        }
        return .place(RecordingPlace(folder, String(decoding: path[start...], as: UTF8.self)))
    }

    private static func open(_ name: String, in folder: CInt, making mode: mode_t?) -> CInt {
        let flags = RecordingPlace.asPath | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        let opened = openat(folder, name, flags)
        guard opened < 0, errno == ENOENT, let mode else { return opened }
        guard mkdirat(folder, name, mode) == 0 || errno == EEXIST else { return -1 }
        return openat(folder, name, flags)
    }
}
