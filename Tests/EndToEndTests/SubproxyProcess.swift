import Glibc
import ProxyTestKit

/// The built program as a child process, as its users start it, whose messages are read line by line.
final class SubproxyProcess {
    /// What became of a program that has ended.
    struct Finished {
        /// The exit status; 128 and the number of the signal that ended it.
        var status: Int32
        var output: String
        var error: String

        /// The lines of standard error.
        var errorLines: [Substring] { error.split(separator: "\n") }
    }

    static let path = RunningBinary.path

    private let process: ChildProcess
    /// Bytes of standard error that ``errorLine()`` has returned.
    private var readBytes = 0

    /// Starts the program, or another one.
    ///
    /// - Parameters:
    ///   - environment: set over this process's.
    ///   - folder: the working directory.
    init(
        _ arguments: [String], program: String = SubproxyProcess.path, environment: [String: String] = [:],
        folder: String? = nil
    ) throws {
        process = try ChildProcess(
            (folder.map { ["env", "-C", $0] } ?? []) + [program] + arguments,
            environment: ["NOTIFY_SOCKET": ""].merging(environment) { $1 })
    }

    /// Runs the program to its end.
    static func run(
        _ arguments: [String], program: String = SubproxyProcess.path, environment: [String: String] = [:],
        folder: String? = nil
    ) throws -> Finished {
        try SubproxyProcess(arguments, program: program, environment: environment, folder: folder).finish()
    }

    var identifier: pid_t { process.identifier }

    func send(_ signal: Int32) { process.send(signal) }

    /// The exit status; nil while it runs.
    var status: Int32? { process.status }

    /// Stops it with SIGSTOP, and waits until it is stopped or has ended.
    func suspend() throws { try process.suspend() }

    /// Waits for the end; what it returns of standard error is what ``errorLine()`` has not.
    func finish() throws -> Finished {
        let status = try process.finish()
        return Finished(
            status: status, output: process.output,
            error: String(decoding: process.error.utf8.dropFirst(readBytes), as: UTF8.self))
    }

    /// The next line of standard error; nil at its end.
    func errorLine() throws -> String? {
        var line: String?
        try Wait.until {
            let hasEnded = process.hasEnded
            let rest = process.error.utf8.dropFirst(readBytes)
            guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return hasEnded }
            line = String(decoding: rest[..<end], as: UTF8.self)
            readBytes += rest[...end].count
            return true
        }
        return line
    }

    /// The next line of standard error that contains a text; nil if none comes.
    func errorLine(containing text: String) throws -> String? {
        while let line = try errorLine() {
            if line.contains(text) { return line }
        }
        return nil
    }
}

/// A TCP socket that listens on a free port of 127.0.0.1 and accepts nothing.
final class ListeningSocket {
    let port: UInt16
    private let descriptor: CInt

    init() throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr = in_addr(s_addr: in_addr_t(0x7f00_0001).bigEndian)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, size) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, pointer, &size) == 0
            }
        }
        guard result else { throw SystemCallError(code: errno) }
        var limit = timeval(tv_sec: 300, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }

    /// Waits until somebody has connected; -1 if nobody does.
    func accept() -> CInt { Glibc.accept(descriptor, nil, nil) }
}

/// The folder that a path's last component is in.
func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return String(path[..<slash])
}

/// Where a symbolic link leads, in its own words.
func resolvedLink(_ path: String) throws -> String {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink(path, &buffer, buffer.count)
    guard count >= 0 else { throw SystemCallError(code: errno) }
    return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
