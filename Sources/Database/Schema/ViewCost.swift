import Basics

/// How much SQLite compares to find out what the names of a view stand for.
///
/// It compares each name with the columns of all that stands in FROM around it, asks nobody meanwhile, and takes a bit
/// more than 1 ns for each: 32 KiB of names over 63 tables of 2000 columns take 2 s, and more SELECTs inside of each
/// other a thousand times that. The estimate is never below what a view takes, and seldom far above.
struct ViewCost {
    /// Names in the text; a star stands for as many as there can be.
    private(set) var names = 0
    /// Columns of all that the text may have in a FROM.
    private(set) var columns = 0

    /// Names × columns that SQLite is left to compare: about a second.
    static let most = 1_000_000_000
    /// The columns that anything can have (SQLITE_MAX_COLUMN).
    static let mostColumns = 2000
    /// Those of the tables that there are without a schema, such as json_each, and what the names of these begin with.
    private static let functionColumns = 16
    private static let functions = ["json", "pragma_", "sqlite_", "dbstat", "fts", "bytecode", "tables_used"]

    var isTooMuch: Bool { names.multipliedReportingOverflow(by: columns).overflow || names * columns > Self.most }

    /// - Parameter columnCount: how many columns a table or view has, by its name as names are compared; nil where
    ///   there is none.
    init(of sql: String, columnCount: (ByBytes<String>) -> Int?) {
        var tokens: [StatementScanner.Token] = []
        var scanner = StatementScanner(sql)
        while let token = scanner.next() { tokens.append(token) }
        let common = ViewCost.commonTables(tokens)
        var selects = 0
        for (index, token) in tokens.enumerated() {
            switch token {
            case .word(let text), .quoted(let text):
                let name = text.asName
                names += 1
                if common.contains(name) {
                    columns += Self.mostColumns
                } else if let count = columnCount(name) {
                    columns += count
                } else if case .word = token, ["select", "values"].contains(name.wrappedValue) {
                    // The first one is the view itself.
                    if selects > 0 { columns += Self.mostColumns }
                    selects += 1
                } else if Self.functions.contains(where: { name.wrappedValue.hasPrefix($0) }) {
                    columns += Self.functionColumns
                }
            case .symbol(UInt8(ascii: "*")) where index > 0 && ViewCost.beginsColumn(behind: tokens[index - 1]):
                names += Self.mostColumns
            case .parameter, .opening, .closing, .end, .symbol: break
            }
        }
    }

    /// Whether a star behind a token stands for columns, and multiplies nothing.
    private static func beginsColumn(behind token: StatementScanner.Token) -> Bool {
        switch token {
        case .symbol(let byte): byte == UInt8(ascii: ",") || byte == UInt8(ascii: ".")
        case .word(let word): ["select", "distinct", "all"].contains(word.asciiLowercased)
        case .quoted, .parameter, .opening, .closing, .end: false
        }
    }

    /// The names that WITH gives: each stands before `AS (`, with columns in parentheses or without.
    private static func commonTables(_ tokens: [StatementScanner.Token]) -> Set<ByBytes<String>> {
        var names: Set<ByBytes<String>> = []
        var openings: [Int] = []
        var opened = 0
        for (index, token) in tokens.enumerated() {
            switch token {
            case .opening: openings.append(index)
            case .closing: opened = openings.popLast() ?? 0
            case .word(let word) where index > 0 && word.asciiLowercased == "as":
                var next = index + 1
                while next < tokens.count, case .word(let hint) = tokens[next],
                    ["not", "materialized"].contains(hint.asciiLowercased)
                {
                    next += 1
                }
                guard next < tokens.count, tokens[next] == .opening else { continue }
                let place = tokens[index - 1] == .closing ? opened - 1 : index - 1
                guard place >= 0 else { continue }
                switch tokens[place] {
                case .word(let name), .quoted(let name): names.insert(name.asName)
                case .parameter, .opening, .closing, .end, .symbol: break
                }
            case .word, .quoted, .parameter, .end, .symbol: break
            }
        }
        return names
    }
}
