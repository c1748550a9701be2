import CSQLite

/// What SQLite says of a call that it refused.
public struct SQLiteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The extended result code, such as 2067 for SQLITE_CONSTRAINT_UNIQUE.
    public let code: CInt
    /// SQLite's sentence about it, as `UNIQUE constraint failed: products.name`.
    public let message: String
    /// Where in the statement's text it went wrong, in bytes; nil where SQLite doesn't tell (sqlite3_error_offset()).
    public let offset: Int?

    /// An error with a message of its own.
    public init(code: CInt, message: String, offset: Int? = nil) {
        self.code = code
        self.message = message
        self.offset = offset
    }

    /// SQLITE_INTERRUPT: the statement was ended before it was done.
    public static let interrupted = SQLiteError(code: SQLITE_INTERRUPT, message: "interrupted")

    /// SQLITE_SCHEMA: the schema is another one than a statement was prepared for.
    public static let schemaCode = SQLITE_SCHEMA

    /// Whether a program has ended in the midst of a write, and this connection may not take it back
    /// (SQLITE_READONLY_ROLLBACK).
    public var isOfHotJournal: Bool { code == SQLITE_READONLY | 3 << 8 }

    /// The primary result code: the low byte of ``code``.
    public var primaryCode: CInt { code & 0xFF }

    /// Whether another connection holds a lock: trying again may help.
    public var isLock: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }
    /// Whether a rule of the schema refused a value.
    public var isConstraint: Bool { primaryCode == SQLITE_CONSTRAINT || primaryCode == SQLITE_MISMATCH }
    /// Whether it is the value itself that the schema refuses (NOT NULL, CHECK, a type), not what other rows have.
    public var isOfInput: Bool {
        primaryCode == SQLITE_MISMATCH || [1299, 275, 3091].contains(code)
    }
    /// Whether the statement was ended before it was done.
    public var isInterrupt: Bool { primaryCode == SQLITE_INTERRUPT }
    /// Whether there is no room for what is to be written.
    public var isFull: Bool { primaryCode == SQLITE_FULL }

    /// The name of the primary result code, as `SQLITE_NOTADB`.
    public var name: String {
        switch primaryCode {
        case SQLITE_ERROR: "SQLITE_ERROR"
        case SQLITE_INTERNAL: "SQLITE_INTERNAL"
        case SQLITE_PERM: "SQLITE_PERM"
        case SQLITE_ABORT: "SQLITE_ABORT"
        case SQLITE_BUSY: "SQLITE_BUSY"
        case SQLITE_LOCKED: "SQLITE_LOCKED"
        case SQLITE_NOMEM: "SQLITE_NOMEM"
        case SQLITE_READONLY: "SQLITE_READONLY"
        case SQLITE_INTERRUPT: "SQLITE_INTERRUPT"
        case SQLITE_IOERR: "SQLITE_IOERR"
        case SQLITE_CORRUPT: "SQLITE_CORRUPT"
        case SQLITE_NOTFOUND: "SQLITE_NOTFOUND"
        case SQLITE_FULL: "SQLITE_FULL"
        case SQLITE_CANTOPEN: "SQLITE_CANTOPEN"
        case SQLITE_PROTOCOL: "SQLITE_PROTOCOL"
        case SQLITE_SCHEMA: "SQLITE_SCHEMA"
        case SQLITE_TOOBIG: "SQLITE_TOOBIG"
        case SQLITE_CONSTRAINT: "SQLITE_CONSTRAINT"
        case SQLITE_MISMATCH: "SQLITE_MISMATCH"
        case SQLITE_MISUSE: "SQLITE_MISUSE"
        case SQLITE_NOLFS: "SQLITE_NOLFS"
        case SQLITE_AUTH: "SQLITE_AUTH"
        case SQLITE_RANGE: "SQLITE_RANGE"
        case SQLITE_NOTADB: "SQLITE_NOTADB"
        default: "SQLITE result \(code)"
        }
    }

    public var description: String { "\(message) (\(name))" }
}
