@testable import Archives

/// An archive of bytes that are in memory.
func openArchive(_ bytes: [UInt8], _ name: String, limits: ArchiveLimits = ArchiveLimits()) throws -> Archive {
    var input = ArchiveInput(name: name, bytes: ArchiveBytes(bytes))
    input.limits = limits
    return try Archive.open(input)
}

/// The problem that an archive is refused for, as people see it; nil where it is none.
func problem(_ bytes: [UInt8], _ name: String) -> String? {
    do throws(ArchiveProblem) {
        _ = try Archive.open(ArchiveInput(name: name, bytes: ArchiveBytes(bytes)))
        return nil
    } catch {
        return error.description(file: name)
    }
}

extension Archive {
    /// The body as it is sent, read in pieces of a size.
    func body(_ index: Int, pieces: Int = 65_536) throws -> [UInt8] {
        var stream = try openBody(index)
        var bytes: [UInt8] = []
        while try stream.read(pieces, into: &bytes) {}
        return bytes
    }

    func text(_ index: Int, pieces: Int = 65_536) throws -> String {
        String(decoding: try body(index, pieces: pieces), as: UTF8.self)
    }

    /// The URLs of all entries in the map's normal form.
    var urls: [String] { (0..<table.count).map { String(decoding: table[$0].url, as: UTF8.self) } }

    /// The value of a field of an entry's response.
    func field(_ name: StaticString, _ index: Int) throws -> String? {
        try exchange(index).value(name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The warnings of reading everything.
    func verified() throws -> [String] {
        var warnings: [String] = []
        try verify { warnings.append($0.description(file: name)) }
        return warnings
    }

    var documentText: String? { document.map { String(decoding: $0, as: UTF8.self) } }
}

extension String {
    /// With CR LF at the ends of lines.
    var crlf: [UInt8] { Array(utf8).flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] } }
}
