/// What stands behind the columns of a CREATE TABLE: `WITHOUT ROWID`, `STRICT`.
struct TableOptions {
    /// In upper case.
    let words: Set<String>

    init(_ sql: String) {
        var words: Set<String> = []
        var depth = 0
        var scanner = StatementScanner(sql)
        while let token = scanner.next() {
            switch token {
            case .opening: depth += 1
            case .closing:
                depth -= 1
                words = []
            case .word(let word) where depth == 0: words.insert(word.asciiUppercased)
            case .word, .quoted, .parameter, .end, .symbol: break
            }
        }
        self.words = words
    }
}
