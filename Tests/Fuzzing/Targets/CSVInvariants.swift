// What is tested here is internal to its module, which is built for that when it is built for debugging or fuzzing.
#if DEBUG || FUZZING
import Diagnostics
import HTTP1Invariants
import SQLite

@testable import Database
import JSON

/// Properties of CSV, whatever bytes it is read from, and of the table that is filled from it.
enum CSVInvariants {
    /// A field; nil where it is NULL.
    private typealias Record = [[UInt8]?]

    static func check(_ bytes: [UInt8]) throws {
        let records: [Record]
        do throws(TextError) {
            records = try read(bytes)
        } catch {
            try require(0...bytes.count ~= error.offset, "place \(error.offset)")
            guard case .failure = try seed(bytes) else { throw InvariantViolation("filled in spite of \(error)") }
            return
        }
        try require(try read(written(records)) == records, "\(records) reads otherwise when it is written")
        guard case .success(let connection) = try seed(bytes), let header = records.first else { return }
        let rows = records.dropFirst().filter { header.count == 1 || $0 != [nil] }
        try require(rows.allSatisfy { $0.count == header.count }, "rows of the wrong length")
        try require(try connection.integer("SELECT count(*) FROM t") == Int64(rows.count), "\(rows.count) rows")
        try checkRows(rows, of: connection)
    }

    private static func read(_ bytes: [UInt8]) throws(TextError) -> [Record] {
        var reader = try CSVReader(bytes)
        var fields: [CSVReader.Field] = []
        var records: [Record] = []
        while let count = try reader.next(&fields, upTo: 1000) {
            guard count == min(fields.count, 1000) else { continue }
            records.append(fields.map { $0.isNull ? nil : reader.text($0) })
        }
        return records
    }

    private static func written(_ records: [Record]) -> [UInt8] {
        var bytes: [UInt8] = []
        for record in records {
            for (index, field) in record.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                guard let field else { continue }
                bytes.append(UInt8(ascii: "\""))
                for byte in field { bytes += byte == UInt8(ascii: "\"") ? [byte, byte] : [byte] }
                bytes.append(UInt8(ascii: "\""))
            }
            bytes += [0x0D, 0x0A]
        }
        return bytes
    }

    /// Fills an empty database, which stays empty where it fails.
    private static func seed(_ bytes: [UInt8]) throws -> Result<SQLiteConnection, SeedError> {
        let connection = try SQLiteConnection("", mode: .memory)
        connection.defend()
        do throws(SeedError) {
            try Seeding.run([SeedFile(name: "t.csv", bytes: bytes)], on: connection)
            return .success(connection)
        } catch {
            let start = error.diagnostic.span?.start
            try require(start.map { 0...bytes.count ~= $0.offset } ?? true, "place \(String(describing: start))")
            try require(!connection.isInTransaction, "a transaction is left")
            try require(try connection.integer("SELECT count(*) FROM sqlite_schema") == 0, "a table is left")
            return .failure(error)
        }
    }

    /// What is in the table is what is in the file: the same text, or the same number.
    private static func checkRows(_ rows: [Record], of connection: SQLiteConnection) throws {
        var keys: Set<Int> = []
        let columns = try connection.prepare("PRAGMA table_info(t)")
        while try columns.step() { if columns.integer(5) > 0 { keys.insert(Int(columns.integer(0))) } }
        // Where there is an integer key, the order of the rows is by it.
        guard keys.isEmpty else { return }
        let statement = try connection.prepare("SELECT * FROM t ORDER BY rowid")
        for row in rows {
            try require(try statement.step(), "a row is missing")
            for (index, field) in row.enumerated() {
                let isSame =
                    switch statement.value(index) {
                    case .null: field == nil
                    case .integer(let integer): field.flatMap { Int64(decimal: $0) } == integer
                    case .real(let real):
                        field.flatMap { JSONNumber($0)?.real }.map { abs($0 - real) <= abs(real) / 1e14 }
                    case .text(let text): field == text
                    case .blob: false
                    }
                try require(isSame == true, "\(String(describing: field)) is \(statement.value(index))")
            }
        }
    }
}

extension Int64 {
    /// An integer, or a boolean as SQLite has it.
    fileprivate init?(decimal text: [UInt8]) {
        switch String(decoding: text, as: UTF8.self) {
        case "true": self = 1
        case "false": self = 0
        case let text:
            guard let value = Int64(text) else { return nil }
            self = value
        }
    }
}
#endif
