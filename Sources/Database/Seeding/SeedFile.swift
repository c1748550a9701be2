/// A file that a database is filled from.
public struct SeedFile: Sendable {
    /// What a file has in it, which its name's extension tells.
    public enum Kind: String, Sendable, CaseIterable {
        /// Statements, such as sqlite3's `.dump` writes.
        case sql
        /// Tables as json-server's db.json has them, or an array of one table's rows.
        case json
        /// One table (RFC 4180).
        case csv
    }

    /// The name as its user wrote it.
    public let name: String
    /// Its contents.
    public let bytes: [UInt8]
    /// Where its rows and statements are noted as they are run; nil where nobody asks.
    var progress: SeedProgress?

    /// A file and its contents.
    public init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    /// What a file of this name has in it; nil for another extension. ASCII case counts for nothing.
    public static func kind(of name: String) -> Kind? { Kind(rawValue: parts(of: name).extension) }

    /// The file's name without folders and extension: the table that an array or a CSV file fills.
    var tableName: [UInt8] { SeedFile.parts(of: name).stem }

    private static func parts(of name: String) -> (stem: [UInt8], extension: String) {
        let file = Array(name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last ?? [])
        guard let point = file.lastIndex(of: UInt8(ascii: ".")) else { return (file, "") }
        return (Array(file[..<point]), String(decoding: foldedName(file[(point + 1)...]), as: UTF8.self))
    }
}

/// Where the row or the statement of a seed begins that is run, in bytes of its file.
final class SeedProgress: @unchecked Sendable {
    // Only the thread that runs the files uses it.
    private(set) var offset = 0
    /// Told when that was run.
    var hasRun: (() -> Void)?

    func note(_ offset: Int) {
        hasRun?()
        self.offset = offset
    }
}

/// A name with its ASCII letters in lower case, as SQLite compares names.
func foldedName(_ name: some Sequence<UInt8>) -> [UInt8] {
    name.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
}

/// A name as SQL has it, in double quotes.
///
/// - Parameter name: UTF-8 without NUL.
func quotedIdentifier(_ name: [UInt8]) -> String {
    var quoted = [UInt8(ascii: "\"")]
    for byte in name {
        if byte == UInt8(ascii: "\"") { quoted.append(byte) }
        quoted.append(byte)
    }
    quoted.append(UInt8(ascii: "\""))
    return String(decoding: quoted, as: UTF8.self)
}
