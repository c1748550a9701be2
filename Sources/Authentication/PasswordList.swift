public import Diagnostics

/// The users of a file as htpasswd writes it: a line `name:hash` each; empty lines and those that begin with `#` are
/// passed over.
public final class PasswordList: Sendable {
    private let users: [[UInt8]: PasswordHash]
    /// Every hash; the checks of unknown names use one of them.
    private let hashes: [PasswordHash]
    private let seed = UInt64.random(in: .min ... .max)

    /// How many users it names.
    public var count: Int { users.count }

    /// Reads the file's text.
    ///
    /// - Parameters:
    ///   - text: the file's bytes.
    ///   - file: its name, for messages.
    /// - Throws: what is wrong with it, all of it.
    public init(_ text: [UInt8], file: String) throws(PasswordListError) {
        var users: [[UInt8]: (hash: PasswordHash, line: Int)] = [:]
        var found: [Diagnostic] = []
        func report(_ message: String, at column: Int, of line: Int, in bytes: some Collection<UInt8>) {
            guard found.count < 20 else { return }
            let scalars = bytes.prefix(column).count { $0 & 0xc0 != 0x80 }
            let mark = TextMark(line: line, column: scalars &+ 1, offset: 0)
            found.append(Diagnostic(.error, message, file: file, span: TextSpan(at: mark)))
        }
        let lines = text.split(separator: 0x0a, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let line = line.last == 0x0d ? line.dropLast() : line
            guard let first = line.first, first != UInt8(ascii: "#") else { continue }
            let number = index &+ 1
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                report("a line has a name, ':' and a hash", at: 0, of: number, in: line)
                continue
            }
            let name = Array(line[..<colon])
            guard !name.isEmpty, name.count <= 255, !name.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
                report("a name has 1 to 255 bytes and no control characters", at: 0, of: number, in: line)
                continue
            }
            if let earlier = users[name] {
                report("the name stands in line \(earlier.line) already", at: 0, of: number, in: line)
                continue
            }
            do throws(PasswordHashError) {
                users[name] = (try PasswordHash(line[(colon &+ 1)...]), number)
            } catch {
                report(error.explanation, at: name.count &+ 1, of: number, in: line)
            }
        }
        guard found.isEmpty else { throw .unusable(found) }
        guard !users.isEmpty else {
            throw .unusable([Diagnostic(.error, "the file names nobody, so nobody could use the proxy", file: file)])
        }
        self.users = users.mapValues(\.hash)
        hashes = users.values.sorted { $0.line < $1.line }.map(\.hash)
    }

    /// Whether the password is the user's. For an unknown name the same work is done with a known user's hash, always
    /// the same one, so that the time does not tell whom the file names.
    public func accepts(_ name: [UInt8], _ password: [UInt8]) -> Bool {
        var hasher = Hasher()
        hasher.combine(seed)
        hasher.combine(name)
        let index = Int(UInt(bitPattern: hasher.finalize()) % UInt(hashes.count))
        let hash = users[name]
        return (hash ?? hashes[index]).isHash(of: password) && hash != nil
    }
}

/// Why a file of passwords can't be used.
public enum PasswordListError: Error {
    /// The file of this name, and the system's number for why it can't be read.
    case unreadable(String, code: CInt)
    /// The file of this name has more than a MiB.
    case tooLarge(String)
    /// What is wrong with its lines, twenty messages at the most; none has a hash.
    case unusable([Diagnostic])
}
