import Archives
import Basics
import CLinux
import Glibc
import Recorder

/// A recording that is written beside another one, `OUT.new`, and put in its place at the end.
struct ScratchRecording {
    let path: String
    private let target: String
    private let isFolder: Bool
    /// That of the old one, while it is there: nobody adds to it what would be lost.
    private let lock: FileLock?
    /// Whether there is another one, which this one replaces.
    var hasOld: Bool { Self.exists(target) }

    /// Removes what a recorder that was killed has left.
    ///
    /// - Throws: ``RecorderFailure`` where another recorder writes it, or the old one.
    init(_ target: RecordTarget) throws(RecorderFailure) {
        // A link stays one: what it leads to is replaced.
        var resolved = target.path
        if let real = realpath(target.path, nil) {
            resolved = String(cString: real)
            free(real)
        }
        self.target = resolved
        path = resolved + ".new"
        isFolder = target.kind.format == .recording
        let name = isFolder ? "/recording.yaml" : ""
        lock = try FileLock(resolved + name)
        let left = try FileLock(path + name)
        withExtendedLifetime(left) { remove() }
    }

    /// Takes a recording's place with its entries in another order.
    ///
    /// - Parameter target: the path of its folder.
    /// - Throws: ``RecorderFailure`` where another recorder writes it.
    init(sorting target: String) throws(RecorderFailure) {
        lock = try FileLock(target + "/recording.yaml")
        let slash = target.lastIndex(of: "/").map { target.index(after: $0) } ?? target.startIndex
        path = "\(target[..<slash]).\(target[slash...]).\(getpid()).part"
        self.target = target
        isFolder = true
        remove()
    }

    func remove() { FolderRemoval.remove(path) }

    /// Puts it in the place of the old one: that and what takes its place are whole at each moment.
    ///
    /// Of the old folder all stays that is no part of the recording: `substitutions.yaml`, files that no entry names, and
    /// the recorded ones that its rules name.
    ///
    /// - Returns: why it can't be; nil where it is done.
    func place() -> String? {
        guard isFolder, Self.exists(target) else { return rename(path, target) == 0 ? nil : SystemError().text }
        let rules = (try? FileReading.contents(of: target + "/substitutions.yaml", upTo: 64 << 20)) ?? []
        unlink(path + "/substitutions.yaml")
        let list = (try? FileReading.contents(of: target + "/recording.yaml", upTo: 1 << 30)) ?? []
        // Of a list that can't be read nothing is known to be its own.
        let recorded = RecordingWriter.files(list) ?? []
        if let reason = keep("", rules, recorded) { return reason }
        // Both change their names at once. (renameat2(2))
        let result = linux_exchange(path, target)
        guard result == 0 else {
            guard result == -EINVAL || result == -ENOSYS else { return SystemError(-result).text }
            // A file system that can't do that.
            let old = path + ".old"
            FolderRemoval.remove(old)
            guard rename(target, old) == 0, rename(path, target) == 0 else { return SystemError().text }
            FolderRemoval.remove(old)
            return nil
        }
        remove()
        return nil
    }

    /// Takes over what is kept of a folder below the old one, by hard links.
    ///
    /// - Parameter folder: its path below that, empty for the whole, else with `/` at its end.
    private func keep(_ folder: String, _ rules: [UInt8], _ recorded: Set<String>) -> String? {
        for name in FolderRemoval.names(in: "\(target)/\(folder)") {
            let name = folder + name
            guard name != "recording.yaml", !name.hasSuffix(".recording-part") else { continue }
            var status = stat()
            guard lstat("\(target)/\(name)", &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                if name != "files", !name.hasPrefix("files/") {
                    mkdir("\(path)/\(name)", status.st_mode & 0o7777)
                }
                if let reason = keep(name + "/", rules, recorded) { return reason }
                continue
            }
            guard !recorded.contains(name) || Self.names(rules, name) else { continue }
            if name.hasPrefix("files/") { makeFolders(of: name) }
            guard link("\(target)/\(name)", "\(path)/\(name)") != 0, errno != EEXIST else { continue }
            return "\(name): \(SystemError().text)"
        }
        return nil
    }

    /// Makes the folders that a file is in, as they are in the old one.
    private func makeFolders(of name: String) {
        for index in name.indices where name[index] == "/" {
            var status = stat()
            let folder = name[..<index]
            guard stat("\(target)/\(folder)", &status) == 0 else { return }
            mkdir("\(path)/\(folder)", status.st_mode & 0o7777)
        }
    }

    /// Whether the map's text has a name.
    private static func names(_ rules: [UInt8], _ name: String) -> Bool {
        let name = Array(name.utf8)
        var rest = rules[...]
        while let start = rest.firstIndex(of: name[0]) {
            rest = rest[start...]
            if rest.starts(with: name) { return true }
            rest = rest.dropFirst()
        }
        return false
    }

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
