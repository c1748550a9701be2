import Basics
import Glibc
import Synchronization

/// The descriptors 0, 1 and 2.
enum StandardDescriptors {
    /// Opens /dev/null for those that are closed, so that no socket gets their number and is written to as if it were
    /// standard error. (libc: `open` takes the lowest free number.)
    static func openMissing() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            guard open("/dev/null", O_RDWR) >= 0 else { return }
        }
    }
}

/// The descriptors that the process has open.
enum OpenDescriptors {
    /// All of them; none where /proc can't be read. (proc(5))
    static func list() -> Set<CInt> {
        guard let directory = opendir("/proc/self/fd") else { return [] }
        defer { closedir(directory) }
        var found: Set<CInt> = []
        while let entry = readdir(directory) {
            let digits = withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if let number = DecimalNumber.parse(digits).flatMap(CInt.init(exactly:)) { found.insert(number) }
        }
        found.remove(dirfd(directory))
        return found
    }
}

/// Standard output or standard error, written without a buffer.
struct StandardStream {
    static let output = StandardStream(descriptor: STDOUT_FILENO)
    static let error = StandardStream(descriptor: STDERR_FILENO)

    /// Why something could not be written to standard output, the first time (errno(3)); 0 as long as all could.
    private static let outputError = Atomic<CInt>(0)
    /// What is lost of standard output is an error of the whole program: see ``Program``.
    static var outputFailure: SystemError? {
        let code = outputError.load(ordering: .relaxed)
        return code == 0 ? nil : SystemError(code)
    }

    let descriptor: CInt

    /// Writes a text and a line break, in one piece where the system takes it so; what can't be written is lost.
    ///
    /// - Returns: whether all of it could be written.
    @discardableResult
    func writeLine(_ text: String) -> Bool { writeText(text.utf8.last == UInt8(ascii: "\n") ? text : text + "\n") }

    /// The same without a line break.
    @discardableResult
    func writeText(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes bytes.
    ///
    /// - Returns: whether all of them could be written.
    func write(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { write($0) } }

    private static func noteOutputError(_ code: CInt) {
        _ = outputError.compareExchange(expected: 0, desired: code, ordering: .relaxed)
    }

    private func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes
        while let base = rest.baseAddress, !rest.isEmpty {
            let count = Glibc.write(descriptor, base, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                if descriptor == STDOUT_FILENO { StandardStream.noteOutputError(count < 0 ? errno : ENOSPC) }
                return false
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }
}
