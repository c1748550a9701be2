import Database
import HTTP1Invariants
import JSON
import SQLite

/// Properties of JSON, whatever bytes it is read from.
enum JSONInvariants {
    /// - Parameter bytes: a value; where there is a NUL byte, one ends it, and behind it stands a merge patch.
    static func check(_ bytes: [UInt8]) throws {
        let text = Array(bytes.prefix { $0 != 0 })
        guard let value = try checkReading(text) else { return }
        try require(text.isEmpty || value.text.count <= 6 * text.count, "\(value.text.count) bytes of \(text.count)")
        let again = try JSONReader.value(value.text)
        try require(again == value, "\(value.text) reads otherwise than \(text)")
        try require(again.text == value.text, "\(value.text) is written otherwise the second time")
        guard let patch = try checkReading(Array(bytes.dropFirst(text.count + 1))) else { return }
        var merged = value
        merged.merge(patch: patch)
        var twice = merged
        twice.merge(patch: patch)
        try require(twice == merged, "a patch changes more the second time")
        try checkPatched(merged, patch)
    }

    /// Reads a text, and compares with what SQLite says of it.
    private static func checkReading(_ text: [UInt8]) throws -> JSONValue? {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONReader.value(text)
        } catch {
            try require(0...text.count ~= error.offset, "place \(error.offset)")
            let isStricter = stricter.contains { error.message.contains($0) } || text.contains(0)
            let isValid = try isValid(text)
            try require(isStricter || !isValid, "SQLite takes \(text): \(error.message)")
            return nil
        }
        try checkNumbers(value)
        let isValid = try isValid(text)
        try require(isValid, "SQLite doesn't take \(text)")
        return value
    }

    /// What SQLite takes, and JSON here doesn't.
    private static let stricter = ["comes twice", "surrogate", "levels", "UTF-8", "byte-order mark"]

    private static func isValid(_ text: [UInt8]) throws -> Bool {
        let statement = try SQLiteConnection("", mode: .memory).prepare("SELECT json_valid(?1)")
        try statement.bind(.text(text), to: 1)
        return try statement.step() && statement.integer(0) == 1
    }

    private static func checkNumbers(_ value: JSONValue) throws {
        switch value {
        case .number(let number):
            try require(JSONNumber(number.text) == number, "\(number.text) is no number")
            guard let integer = number.integer else { return }
            let digits = number.text == Array("-0".utf8) ? Array("0".utf8) : number.text
            try require(Array("\(integer)".utf8) == digits, "\(number.text) is \(integer)")
            try require(number.real == Double(integer), "\(number.text) is \(String(describing: number.real))")
        case .array(let elements): for element in elements { try checkNumbers(element) }
        case .object(let object):
            for member in object.members {
                try require(object[member.name] == member.value, "\(member.name) isn't found")
                try checkNumbers(member.value)
            }
        default: break
        }
    }

    /// Each member of a patch is in what was patched, or isn't where it is null.
    private static func checkPatched(_ merged: JSONValue, _ patch: JSONValue) throws {
        guard case .object(let changes) = patch else {
            return try require(merged == patch, "another value than the patch")
        }
        guard case .object(let object) = merged else { throw InvariantViolation("no object any more") }
        for change in changes.members {
            let member = object[change.name]
            try require((member == nil) == (change.value == .null), "member \(change.name)")
            if let member { try checkPatched(member, change.value) }
        }
    }
}
