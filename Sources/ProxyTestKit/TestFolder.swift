import Glibc

/// A folder of a test's own, removed with all that is in it when the last reference goes.
public final class TestFolder: Sendable {
    /// The folder's path; one where nothing is if it can't be made.
    public let path: String

    /// Makes the folder in /tmp, with mode 0700.
    public init() {
        var template = Array("/tmp/subproxy-test-XXXXXX".utf8CString)
        path =
            mkdtemp(&template) == nil
            ? "/nonexistent" : String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit { _ = try? ChildProcess.run(["rm", "-rf", path]) }

    /// The path of a name in it.
    public func at(_ name: String) -> String { "\(path)/\(name)" }

    /// The text of a file in it.
    public func text(of name: String) throws -> String { try ChildProcess.run(["cat", at(name)]).output }
}
