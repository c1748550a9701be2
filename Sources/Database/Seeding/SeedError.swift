public import Diagnostics
import JSON
public import SQLite

/// What is wrong with a seed.
public struct SeedError: Error, Sendable {
    /// The message, with the place where it is known.
    public let diagnostic: Diagnostic
    /// The contents of the file that it is about.
    public let source: [UInt8]
    /// What SQLite refused, for whom it matters whether there is no room (``SQLiteError/isFull``) or the time is up
    /// (``SQLiteError/isInterrupt``); nil where it wasn't SQLite.
    public let cause: SQLiteError?

    /// The message with the line of the file and a mark under the place.
    public var rendering: String { diagnostic.rendered(source: source) }

    /// - Parameter offset: the place in the file, in bytes; nil for the file as a whole.
    init(_ message: String, in file: SeedFile, at offset: Int?, cause: SQLiteError? = nil) {
        let span = offset.map { TextSpan(at: TextMark(offset: $0, in: file.bytes)) }
        diagnostic = Diagnostic(.error, message, file: file.name, span: span)
        source = file.bytes
        self.cause = cause
    }

    init(_ error: SQLiteError, in file: SeedFile, at offset: Int?) {
        self.init(error.message, in: file, at: offset, cause: error)
    }
}

/// Runs what may fail, and tells of an error as one of a file.
extension SeedFile {
    /// - Parameter offset: the place that is to blame, in bytes; nil for the file as a whole.
    func database<Result>(at offset: Int?, _ body: () throws(SQLiteError) -> Result) throws(SeedError) -> Result {
        if let offset { progress?.note(offset) }
        do throws(SQLiteError) {
            return try body()
        } catch {
            throw SeedError(error, in: self, at: offset)
        }
    }

    /// - Parameter offset: the place that is to blame, in bytes; nil for the file as a whole.
    func value<Result>(at offset: Int?, _ body: () throws(ValueError) -> Result) throws(SeedError) -> Result {
        do throws(ValueError) {
            return try body()
        } catch {
            throw SeedError(error.message, in: self, at: offset)
        }
    }

    func text<Result>(_ body: () throws(TextError) -> Result) throws(SeedError) -> Result {
        do throws(TextError) {
            return try body()
        } catch {
            throw SeedError(error.message, in: self, at: error.offset)
        }
    }
}
