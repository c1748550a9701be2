import Glibc
import HTTPSemantics

/// The media types of files on this machine: the built-in ones, and beyond them those of `/etc/mime.types`.
enum SystemMediaTypes {
    /// The built-in types and those of `/etc/mime.types`, where there is one of at most 1 MiB; read when first used.
    private static let all = readAll()

    /// The type of a file by its extension; `application/octet-stream` where that is unknown.
    ///
    /// The first unknown extension has `/etc/mime.types` read, which takes some milliseconds: ``prepare(forPath:)``.
    static func type(forPath path: some BidirectionalCollection<UInt8>) -> MediaType {
        let type = ExtensionTable.builtIn.type(forPath: path)
        return type == .octetStream ? all.type(forPath: path) : type
    }

    /// Reads what ``type(forPath:)`` will need for this file; for a thread that may block.
    static func prepare(forPath path: some BidirectionalCollection<UInt8>) { _ = type(forPath: path) }

    private static func readAll() -> ExtensionTable {
        let descriptor = open("/etc/mime.types", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return .builtIn }
        defer { close(descriptor) }
        var text = [UInt8](repeating: 0, count: 1 << 20)
        var length = 0
        while length < text.count {
            let count = text.withUnsafeMutableBytes { space in
                space.baseAddress.map { read(descriptor, $0 + length, space.count - length) } ?? 0
            }
            guard count > 0 else { break }
            length += count
        }
        return ExtensionTable.builtIn.adding(mimeTypes: Array(text[..<length]))
    }
}
