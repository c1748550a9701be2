public import Basics
import Glibc

/// The folder in which sessions are saved, each in a file `NAME.yaml`.
public struct SessionFolder: Sendable {
    public let path: String

    /// - Parameter path: need not exist; it is made when a session is saved.
    public init(path: String) { self.path = path }

    /// The folder that belongs to a map where no other is named: `sessions` beside it.
    public init(besideMap map: String) {
        guard let slash = map.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            self.init(path: "sessions")
            return
        }
        self.init(path: String(map[...slash]) + "sessions")
    }

    /// Why a session can't be read.
    public enum ReadFailure: Error, Sendable, Equatable {
        case notFound
        case system(SystemError)
        /// The file is none, or not one of a session's.
        case noSession(SessionError)
    }

    public func file(of name: SessionName) -> String { "\(path)/\(name.text).yaml" }

    /// Reads a session. Links are not followed, and what is no regular file is refused.
    ///
    /// - Throws: ``ReadFailure`` where there is none of that name, or it can't be read.
    public func read(_ name: SessionName) throws(ReadFailure) -> SavedSession {
        let bytes = try contents(name)
        do throws(SessionError) {
            return try SavedSession(bytes)
        } catch {
            throw .noSession(error)
        }
    }

    /// The bytes of a session's file, as far as they can be one's.
    ///
    /// - Throws: ``ReadFailure``: `notFound`, `noSession` for a link and what is no regular file, `system` for all
    ///   else.
    public func contents(_ name: SessionName) throws(ReadFailure) -> [UInt8] {
        let descriptor = open(file(of: name), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)
        guard descriptor >= 0 else {
            let error = SystemError()
            if error.code == ENOENT || error.code == ENOTDIR { throw .notFound }
            if error.code == ELOOP { throw .noSession(SessionError("the file is a symbolic link")) }
            throw .system(error)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(SystemError()) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .noSession(SessionError("this is no regular file")) }
        do {
            return try FileReading.contents(of: descriptor, upTo: SavedSession.mostBytes + 1)
        } catch {
            throw .system(error)
        }
    }

    /// The names of the sessions, in their order; none where the folder is not there.
    ///
    /// - Throws: `SystemError` where the folder can't be read.
    public func names() throws(SystemError) -> [SessionName] {
        guard let folder = opendir(path) else {
            let error = SystemError()
            if error.code == ENOENT { return [] }
            throw error
        }
        defer { closedir(folder) }
        var names: [SessionName] = []
        while let entry = readdir(folder) {
            let text = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard text.hasSuffix(".yaml"), let name = SessionName(text.dropLast(".yaml".count)) else { continue }
            names.append(name)
        }
        return names.sorted()
    }

    /// Saves a session, for its user alone, in the place of one of that name: a reader finds the old or the new one.
    ///
    /// - Returns: whether there was one.
    /// - Throws: `SystemError` where the folder or the file can't be made; what was there stays.
    public func write(_ session: SavedSession, as name: SessionName) throws(SystemError) -> Bool {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemError() }
        let target = file(of: name)
        var template = Array("\(path)/.\(name.text).XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw SystemError() }
        var status = stat()
        let isReplaced = lstat(target, &status) == 0
        let failure = SessionFolder.fill(descriptor, with: session.yaml)
        close(descriptor)
        if let failure {
            unlink(template)
            throw failure
        }
        guard rename(template, target) == 0 else {
            let error = SystemError()
            unlink(template)
            throw error
        }
        return isReplaced
    }

    private static func fill(_ descriptor: CInt, with bytes: [UInt8]) -> SystemError? {
        guard fchmod(descriptor, 0o600) == 0 else { return SystemError() }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return SystemError() }
            rest = rest.dropFirst(count)
        }
        return fsync(descriptor) == 0 ? nil : SystemError()
    }

    /// Deletes a session.
    ///
    /// - Returns: whether there was one.
    /// - Throws: `SystemError` where it is there and can't be deleted.
    public func delete(_ name: SessionName) throws(SystemError) -> Bool {
        if unlink(file(of: name)) == 0 { return true }
        let error = SystemError()
        guard error.code == ENOENT || error.code == ENOTDIR else { throw error }
        return false
    }
}
