import Glibc

/// Standard output or standard error, written without a buffer.
struct StandardStream {
    static let output = StandardStream(descriptor: STDOUT_FILENO)
    static let error = StandardStream(descriptor: STDERR_FILENO)

    let descriptor: CInt

    /// Writes a text and a line break, in one piece where the system takes it so; what can't be written is lost.
    func writeLine(_ text: String) {
        var text = text
        if text.utf8.last != UInt8(ascii: "\n") { text += "\n" }
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while let base = rest.baseAddress, !rest.isEmpty {
                let count = write(descriptor, base, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }
}
