import Glibc
import Synchronization

/// Looks whether somebody else can change the maps: who writes a map chooses what clients get, and which files of this
/// user's they can read.
///
/// It is warned of and not refused, since a map of another user's may well be meant: that of a developer in a service,
/// or the host's in a container.
final class MapOwnership: Sendable {
    private let told = Mutex<Set<String>>([])

    /// The warnings about files, each of them once in the program's life.
    func warnings(of files: [String]) -> [String] {
        let found = files.compactMap(MapOwnership.warning)
        return told.withLock { told in found.filter { told.insert($0).inserted } }
    }

    private static func warning(of file: String) -> String? {
        var status = stat()
        guard stat(file, &status) == 0 else { return nil }
        let path = folder(of: file)
        var folder = stat()
        let isFolderKnown = stat(path, &folder) == 0
        return warning(of: file, status, in: path, isFolderKnown ? folder : nil, user: geteuid())
    }

    /// The warnings about a file and its folder, by what stat(2) says of them.
    ///
    /// A group whose number is the owner's is taken for the owner's alone, as systems make one for each user.
    static func warning(of file: String, _ status: stat, in path: String, _ folder: stat?, user: uid_t) -> String? {
        let rights = "choose what clients get, and read what this program may read"
        if status.st_mode & S_IWOTH != 0, status.st_mode & S_IFMT == S_IFREG {
            return "every user of this machine can write \(file), and so \(rights): chmod o-w \(file)"
        }
        if status.st_uid != 0, status.st_uid != user {
            return "\(file) belongs to another user (\(status.st_uid)), who can so \(rights)"
        }
        if status.isOpenToGroup, status.st_mode & S_IFMT == S_IFREG {
            return "every user of the group \(status.st_gid) can write \(file), and so \(rights): chmod g-w \(file)"
        }
        guard let folder, folder.st_mode & S_ISVTX == 0 else { return nil }
        if folder.st_mode & S_IWOTH != 0 {
            return "every user of this machine can replace \(file), and so \(rights): chmod o-w \(path)"
        }
        if folder.isOpenToGroup {
            return "every user of the group \(folder.st_gid) can replace \(file), and so \(rights): chmod g-w \(path)"
        }
        return nil
    }

    private static func folder(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }
}

extension stat {
    fileprivate var isOpenToGroup: Bool { st_mode & S_IWGRP != 0 && st_gid != 0 && st_gid != st_uid }
}
