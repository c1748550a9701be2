import Basics
import Glibc

/// The folder with the certificate authority's two files, each of which is there whole or not at all.
///
/// A file is written under another name, synced, and then linked to its own, which fails if another process was first:
/// processes that start at the same time end up with the same files, and a crash leaves no half of one.
final class AuthorityFiles {
    enum File: String {
        case key = "ca-key.pem"
        case certificate = "ca.pem"

        var mode: mode_t { self == .key ? 0o600 : 0o644 }
    }

    private static let largestFile = 64 * 1024

    let folder: AuthorityFolderDescriptor

    init(_ folder: AuthorityFolderDescriptor) { self.folder = folder }

    func path(_ file: File) -> String { "\(folder.path)/\(file.rawValue)" }

    /// The bytes of a file, or nil where it is missing.
    ///
    /// - Throws: ``AuthorityFailure`` for a file that is no regular one, a link, another user's, too large, or, where
    ///   it is the key, open to others.
    func contents(_ file: File) throws(AuthorityFailure) -> [UInt8]? {
        // O_NONBLOCK: a FIFO in the file's place would hang otherwise.
        let opened = openat(
            folder.descriptor, file.rawValue, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard opened >= 0 else {
            let code = errno
            if code == ENOENT { return nil }
            if code == ELOOP {
                throw AuthorityFailure(
                    .exposed, "\(path(file)) is a symbolic link", advice: "put the file itself there")
            }
            throw folder.failure("\(path(file)) can't be opened", code)
        }
        defer { close(opened) }
        try check(file, opened)
        return try bytes(file, opened)
    }

    /// Puts a file in place unless there is one already, and returns the bytes of the one that is there then.
    ///
    /// - Throws: ``AuthorityFailure`` where the file can't be made, or the one that is there is refused by
    ///   ``contents(_:)``.
    func publish(_ bytes: [UInt8], as file: File, random: RandomBytes) throws(AuthorityFailure) -> [UInt8] {
        // Another process may sweep away the unfinished file between the two steps; it does so once.
        for _ in 0..<8 {
            let draft = "\(AuthorityFiles.draftPrefix)\(file.rawValue).\(Hexadecimal.text(random.bytes(8)))"
            try write(bytes, to: draft, as: file)
            let linked = linkat(folder.descriptor, draft, folder.descriptor, file.rawValue, 0)
            let code = errno
            unlinkat(folder.descriptor, draft, 0)
            if linked == 0 {
                try folder.sync()
                return bytes
            }
            if code == EEXIST {
                if let present = try contents(file) { return present }
            } else if code != ENOENT {
                throw folder.failure("\(path(file)) can't be made", code)
            }
        }
        throw folder.failure("\(path(file)) can't be made", EAGAIN)
    }

    /// Removes what a crash left of files that were never put in place, unless another process is making some now.
    ///
    /// - Throws: ``AuthorityFailure`` where the folder can't be read.
    func sweepDrafts() throws(AuthorityFailure) {
        guard folder.tryLock() else { return }
        for name in try folder.names() where name.hasPrefix(AuthorityFiles.draftPrefix) {
            unlinkat(folder.descriptor, name, 0)
        }
    }

    /// Removes both files; the certificate first, since a key alone counts as no CA and a certificate alone is
    /// an error.
    ///
    /// - Throws: ``AuthorityFailure`` where a file can't be removed.
    func removeAll() throws(AuthorityFailure) {
        for file in [File.certificate, .key] {
            guard unlinkat(folder.descriptor, file.rawValue, 0) != 0 else { continue }
            let code = errno
            if code != ENOENT { throw folder.failure("\(path(file)) can't be removed", code) }
        }
        try folder.sync()
    }

    private static let draftPrefix = ".draft-"

    private func check(_ file: File, _ descriptor: CInt) throws(AuthorityFailure) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw folder.failure("\(path(file)) can't be examined", errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw AuthorityFailure(.malformed, "\(path(file)) is no regular file", advice: "remove it")
        }
        guard status.st_uid == geteuid() else {
            throw AuthorityFailure(
                .foreignOwner, "\(path(file)) belongs to another user (\(status.st_uid), not \(geteuid()))",
                advice: "run this as that user, or choose another folder with --ca-dir")
        }
        guard file != .key || status.st_mode & 0o077 == 0 else {
            throw AuthorityFailure(
                .exposed, "\(path(file)) is open to others (mode 0\(String(status.st_mode & 0o7777, radix: 8)))",
                advice: "run `chmod 600 \(path(file))`; if somebody may have read it, have a new authority made: "
                    + AuthorityFolder.command("ca uninstall --delete", on: folder.path))
        }
        guard status.st_size <= AuthorityFiles.largestFile else {
            throw AuthorityFailure(
                .malformed, "\(path(file)) is too large to be what it should", advice: "remove it")
        }
    }

    private func bytes(_ file: File, _ descriptor: CInt) throws(AuthorityFailure) -> [UInt8] {
        do { return try FileReading.contents(of: descriptor, upTo: AuthorityFiles.largestFile + 1) } catch {
            throw folder.failure("\(path(file)) can't be read", error.code)
        }
    }

    private func write(_ bytes: [UInt8], to draft: String, as file: File) throws(AuthorityFailure) {
        let opened = openat(
            folder.descriptor, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600 as mode_t)
        guard opened >= 0 else { throw folder.failure("a file can't be made in \(folder.path)", errno) }
        defer { close(opened) }
        // The umask may have taken bits away; it can't have added any.
        var result: CInt = fchmod(opened, file.mode)
        var rest = bytes[...]
        while result == 0, !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(opened, $0.baseAddress, $0.count) }
            if count < 0, errno != EINTR { result = -1 }
            rest = rest.dropFirst(max(0, count))
        }
        if result == 0 { result = fsync(opened) }
        guard result == 0 else {
            let code = errno
            unlinkat(folder.descriptor, draft, 0)
            throw folder.failure("\(path(file)) can't be written", code)
        }
    }
}
