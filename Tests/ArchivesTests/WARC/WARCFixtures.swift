@testable import Archives

/// What is read from some bytes.
struct ReadArchive {
    let archive: Archive

    init(_ bytes: [UInt8], name: String, limits: ArchiveLimits = ArchiveLimits()) throws {
        var input = ArchiveInput(name: name, bytes: ArchiveBytes(bytes))
        input.limits = limits
        archive = try Archive.open(input)
    }

    /// Method, status and URL of each entry, and why it is unusable.
    var lines: [String] {
        (0..<archive.table.count).map { index in
            let entry = archive.table[index]
            let reason = entry.unusable.map { " \($0)" } ?? ""
            return "\(entry.method) \(entry.status) \(String(decoding: entry.url, as: UTF8.self))\(reason)"
        }
    }

    var warnings: [String] { archive.warnings.map(\.message) }

    /// The body of an entry as it is stored, but for the transfer coding.
    func body(_ index: Int, step: Int = 7) throws -> String {
        String(decoding: try bytes(index, step: step), as: UTF8.self)
    }

    func bytes(_ index: Int, step: Int = 7) throws -> [UInt8] {
        var stream = try archive.openBody(index)
        var bytes: [UInt8] = []
        while try stream.read(step, into: &bytes) {}
        return bytes
    }

    /// The fields of the response, a line each.
    func fields(_ index: Int) throws -> [String] {
        try archive.exchange(index).fields.map { field in
            "\(String(decoding: field.name, as: UTF8.self)): \(String(decoding: field.value, as: UTF8.self))"
        }
    }
}

extension ArchiveProblem {
    /// What an expression throws.
    static func thrown<Value>(_ body: () throws -> Value) -> ArchiveProblem? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? ArchiveProblem
        }
    }
}

/// Gzip as the encoder writes it.
func gzip(_ bytes: [UInt8]) throws -> [UInt8] {
    let encoder = try GzipEncoder()
    var coded: [UInt8] = []
    encoder.encode(bytes, into: &coded)
    encoder.finish(into: &coded)
    return coded
}
