import Basics
public import Glibc

/// A system call has failed.
public struct SystemCallError: Error {
    /// The error's number.
    public var code: CInt

    /// The error of a number; that of the last call by default.
    public init(code: CInt = errno) { self.code = code }
}

/// The bytes of a file.
///
/// - Throws: ``SystemCallError`` where it can't be opened, or read.
public func contents(_ path: String) throws -> [UInt8] {
    guard let file = fopen(path, "re") else { throw SystemCallError() }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = fread(&piece, 1, piece.count, file)
        guard count > 0 else {
            // A folder can be opened, and not read.
            guard ferror(file) == 0 else { throw SystemCallError() }
            return bytes
        }
        bytes += piece[..<count]
    }
}

/// A folder of a test's own in /tmp, removed with all that is in it when the last reference goes.
public final class TemporaryFolder: Sendable {
    /// The folder's path; one where nothing is if it can't be made.
    public let path: String

    /// Makes the folder with mode 0700.
    public init() {
        var template = Array("/tmp/subproxy-test-XXXXXX".utf8CString)
        path =
            mkdtemp(&template) == nil
            ? "/nonexistent" : String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { FolderRemoval.remove(path) }

    /// The path of a name in it.
    public func at(_ name: String) -> String { "\(path)/\(name)" }

    /// Waits until what was written last is older than the time in which file times can't tell two writes apart: a
    /// file that is read sooner is read again at its next use.
    public func age() { usleep(100_000) }

    /// The text of a file in it.
    ///
    /// - Throws: ``SystemCallError`` where it can't be read. A file that is not there has no text.
    public func text(of name: String) throws -> String {
        do { return String(decoding: try contents(at(name)), as: UTF8.self) } catch let error as SystemCallError
            where error.code == ENOENT
        {
            return ""
        }
    }

    /// Writes a file in place; its path.
    ///
    /// - Throws: ``SystemCallError`` where the file can't be opened.
    @discardableResult
    public func write(_ name: String, _ text: String) throws -> String {
        guard let file = fopen(at(name), "we") else { throw SystemCallError() }
        defer { fclose(file) }
        fputs(text, file)
        return at(name)
    }
}
