import Diagnostics

/// Finds the ends of a script's statements, by the rules of sqlite3_complete()
/// (https://sqlite.org/c3ref/complete.html).
///
/// SQLite finds them itself, but copies what it is given each time, so that a long script would take quadratic time.
struct ScriptSplitter {
    private let bytes: [UInt8]
    private var offset: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        offset = byteOrderMarkLength(bytes)
    }

    fileprivate enum Token { case semicolon, other, explain, create, temporary, trigger, end }

    fileprivate enum State {
        case start, normal, explain, create
        /// In a CREATE TRIGGER, which ends with `; END ;`.
        case trigger, triggerSemicolon, triggerEnd
    }

    /// The next statement, from its first token to its semicolon or the script's end; nil where there is none.
    mutating func next() -> Range<Int>? {
        var state = State.start
        var start: Int?
        while let (token, place) = nextToken() {
            if token == .semicolon && state == .start { continue }
            start = start ?? place
            state = State.following(state, token)
            if state == .start { break }
        }
        return start.map { $0..<offset }
    }

    /// Reads a token and the blanks and comments before it.
    private mutating func nextToken() -> (Token, Int)? {
        while offset < bytes.count {
            let start = offset
            let byte = bytes[start]
            offset &+= 1
            switch byte {
            // Not a vertical tab, which SQLite takes for no blank at a token's beginning.
            case 0x20, 0x09, 0x0A, 0x0C, 0x0D: continue
            case UInt8(ascii: "-") where isNext(UInt8(ascii: "-")): skip(behind: UInt8(ascii: "\n"))
            case UInt8(ascii: "/") where isNext(UInt8(ascii: "*")): skipComment()
            case UInt8(ascii: ";"): return (.semicolon, start)
            case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"):
                // A doubled quote ends a text and begins another, which comes to the same.
                skip(behind: byte)
                return (.other, start)
            case UInt8(ascii: "["):
                skip(behind: UInt8(ascii: "]"))
                return (.other, start)
            default:
                guard ScriptSplitter.isOfName(byte) else { return (.other, start) }
                while offset < bytes.count, ScriptSplitter.isOfName(bytes[offset]) { offset &+= 1 }
                return (ScriptSplitter.keyword(bytes[start..<offset]), start)
            }
        }
        return nil
    }

    private func isNext(_ byte: UInt8) -> Bool { offset < bytes.count && bytes[offset] == byte }

    private mutating func skip(behind byte: UInt8) {
        offset = bytes[offset...].firstIndex(of: byte).map { $0 &+ 1 } ?? bytes.count
    }

    private mutating func skipComment() {
        offset &+= 1
        while offset < bytes.count {
            skip(behind: UInt8(ascii: "*"))
            if isNext(UInt8(ascii: "/")) {
                offset &+= 1
                return
            }
        }
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }

    private static func keyword(_ name: ArraySlice<UInt8>) -> Token {
        guard 3...9 ~= name.count else { return .other }
        return switch String(decoding: foldedName(name), as: UTF8.self) {
        case "explain": .explain
        case "create": .create
        case "temp", "temporary": .temporary
        case "trigger": .trigger
        case "end": .end
        default: .other
        }
    }
}

extension ScriptSplitter.State {
    /// The state behind a token; `start` where the token ends the statement.
    fileprivate static func following(_ state: Self, _ token: ScriptSplitter.Token) -> Self {
        switch (state, token) {
        case (.trigger, .semicolon), (.triggerSemicolon, .semicolon): .triggerSemicolon
        case (.triggerSemicolon, .end): .triggerEnd
        case (.triggerEnd, .semicolon): .start
        case (.trigger, _), (.triggerSemicolon, _), (.triggerEnd, _): .trigger
        case (_, .semicolon): .start
        case (.start, .explain): .explain
        case (.start, .create), (.explain, .create): .create
        // EXPLAIN QUERY PLAN
        case (.explain, .other): .explain
        case (.create, .temporary): .create
        case (.create, .trigger): .trigger
        default: .normal
        }
    }
}
