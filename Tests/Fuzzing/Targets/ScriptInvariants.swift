// What is tested here is internal to its module, which is built for that when it is built for debugging or fuzzing.
#if DEBUG || FUZZING
import CSQLite
import HTTP1Invariants
import SQLite

@testable import Database

/// Properties of scripts, whatever bytes they are: they are split as SQLite splits them, and do nothing beyond.
enum ScriptInvariants {
    static func check(_ bytes: [UInt8]) throws {
        let script = bytes.filter { $0 != 0 }
        var splitter = ScriptSplitter(script)
        var end = 0
        while let range = splitter.next() {
            try require(range.lowerBound >= end && !range.isEmpty, "\(range) behind \(end)")
            end = range.upperBound
            let statement = Array(script[range])
            // The last one may have no end.
            let isWhole = isComplete(statement)
            try require(isWhole || end == script.count, "\(statement) has no end")
            try require(!isWhole || !isComplete(statement.dropLast()), "\(statement) has an end before its last byte")
        }
        let connection = try SQLiteConnection("", mode: .memory)
        connection.defend()
        var questions = 0
        connection.goesOn = {
            questions += 1
            return questions < 100
        }
        do throws(SeedError) {
            try Seeding.run([SeedFile(name: "s.sql", bytes: bytes)], on: connection)
        } catch {
            connection.goesOn = nil
            try require(try connection.integer("SELECT count(*) FROM sqlite_schema") == 0, "a table is left")
        }
        try require(!connection.isInTransaction, "a transaction is left")
    }

    private static func isComplete(_ statement: some Sequence<UInt8>) -> Bool {
        let text = statement.map { CChar(bitPattern: $0) } + [0]
        return sqlite3_complete(text) == 1
    }
}
#endif
