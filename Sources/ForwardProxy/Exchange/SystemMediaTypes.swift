import Basics
import HTTPSemantics

/// The media types of files on this machine: the built-in ones, and beyond them those of `/etc/mime.types`.
enum SystemMediaTypes {
    /// The built-in types and those of `/etc/mime.types`, where there is one of at most 1 MiB; read when first used.
    private static let all = readAll()

    /// The type of a file by its extension; `application/octet-stream` where that is unknown.
    ///
    /// The first unknown extension has `/etc/mime.types` read, which takes some milliseconds: ``prepare(forPath:)``.
    static func type(forPath path: [UInt8]) -> MediaType {
        let type = ExtensionTable.builtIn.type(forPath: path)
        return type == .octetStream ? all.type(forPath: path) : type
    }

    /// Reads what ``type(forPath:)`` will need for this file; for a thread that may block.
    static func prepare(forPath path: [UInt8]) { _ = type(forPath: path) }

    private static func readAll() -> ExtensionTable {
        guard let text = try? FileReading.contents(of: "/etc/mime.types", upTo: 1 << 20) else { return .builtIn }
        return ExtensionTable.builtIn.adding(mimeTypes: text)
    }
}
