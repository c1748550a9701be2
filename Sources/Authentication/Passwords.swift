import Basics
import Diagnostics
import Glibc
import Synchronization

/// The file of users and password hashes that the credentials of clients are checked against (`--auth`).
public final class Passwords: Sendable {
    private struct State {
        var bytes: [UInt8]
        var list: PasswordList
        var isExposed: Bool
    }

    /// Its path.
    public let file: String
    private let state: Mutex<State>

    /// Reads the file, of at most 1 MiB.
    ///
    /// - Throws: why it can't be used.
    public init(file: String) throws(PasswordListError) {
        self.file = file
        state = Mutex(try Passwords.load(file))
    }

    /// Reads the file again; after an error the old passwords stay in force.
    ///
    /// - Returns: whether it holds something else than before.
    /// - Throws: why it can't be used.
    public func reload() throws(PasswordListError) -> Bool {
        let loaded = try Passwords.load(file)
        return state.withLock { state in
            guard state.bytes != loaded.bytes else {
                state.isExposed = loaded.isExposed
                return false
            }
            state = loaded
            return true
        }
    }

    /// Whether users of the machine who are neither the file's owner nor of its group may read or write it.
    public var isExposed: Bool { state.withLock(\.isExposed) }

    /// How many users it names.
    public var count: Int { state.withLock(\.list).count }

    /// The users of the file as it was read last.
    public var list: PasswordList { state.withLock(\.list) }

    private static func load(_ file: String) throws(PasswordListError) -> State {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadable(file, code: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unreadable(file, code: errno) }
        let bytes: [UInt8]
        do { bytes = try FileReading.contents(of: descriptor, upTo: (1 << 20) + 1) } catch {
            throw .unreadable(file, code: error.code)
        }
        guard bytes.count <= 1 << 20 else { throw .tooLarge(file) }
        return State(
            bytes: bytes, list: try PasswordList(bytes, file: file),
            isExposed: status.st_mode & (S_IROTH | S_IWOTH) != 0)
    }
}

extension PasswordListError: CustomStringConvertible {
    /// One line for each thing that is wrong; never a hash.
    public var description: String {
        switch self {
        case .unreadable(let file, let code): "the file '\(file)' can't be read: \(String(cString: strerror(code)))"
        case .tooLarge(let file): "the file '\(file)' has more than 1MiB"
        case .unusable(let diagnostics): diagnostics.map(\.headline).joined(separator: "\n")
        }
    }
}
