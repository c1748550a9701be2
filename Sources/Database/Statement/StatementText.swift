import Basics

/// What can be told of a statement without a database: whether it writes, and which parameters it has.
public struct StatementText: Sendable, Equatable {
    /// Names of parameters with their prefix: `$1`, `:name`, `@member`.
    public private(set) var parameters: [String] = []
    /// Whether it changes data.
    public private(set) var isWrite = false
    /// Why it can't be a rule's; nil where nothing is wrong with it.
    public private(set) var problem: String?

    public init(_ sql: String) {
        var first: String?
        /// The verb behind the tables that stand before a statement, which WITH names: behind their brackets, since a
        /// table may have a verb for its name.
        var main: String?
        var isBehindBracket = false
        var depth = 0
        var hasEnded = false
        var scanner = StatementScanner(sql)
        while let token = scanner.next() {
            guard !hasEnded || token == .end else {
                problem = "'sql' is one statement; another begins after ';'"
                return
            }
            defer { isBehindBracket = token == .closing }
            switch token {
            case .end: hasEnded = true
            case .opening: depth += 1
            case .closing: depth -= 1
            case .word(let word):
                guard depth == 0, first == nil || main == nil && isBehindBracket else { continue }
                let word = word.asciiUppercased
                if first == nil { first = word } else if StatementText.verbs.contains(word) { main = word }
            case .parameter("?"):
                problem =
                    "'?' has no name; write $1 for a capture, :name for a parameter of the query, @name for a member of the body"
                return
            case .parameter(let name):
                if name.utf8.count > 1, !parameters.contains(where: { $0.hasBytes(of: name) }) {
                    parameters.append(name)
                }
            case .quoted, .symbol: break
            }
        }
        guard let first else {
            problem = "'sql' has no statement"
            return
        }
        let verb = first == "WITH" ? main ?? first : first
        guard StatementText.verbs.contains(verb) else {
            problem = "'sql' is SELECT, INSERT, UPDATE or DELETE, not \(verb)"
            return
        }
        isWrite = verb != "SELECT" && verb != "VALUES"
    }

    private static let verbs: Set<String> = ["SELECT", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE"]
}

/// Cuts a statement into what ``StatementText`` goes by; blanks and comments are passed over.
struct StatementScanner {
    enum Token: Equatable {
        /// A word or a number, as it is written.
        case word(String)
        /// With its prefix; `?` is one without a name.
        case parameter(String)
        case opening, closing
        /// `;`
        case end
        /// A text or a name in quotes, without them.
        case quoted(String)
        /// A byte of what is none of these, as of an operator.
        case symbol(UInt8)
    }

    private let text: [UInt8]
    private var index = 0

    init(_ sql: String) { text = Array(sql.utf8) }

    /// The next token; nil at the end.
    mutating func next() -> Token? {
        passOver()
        guard let byte = peek() else { return nil }
        let start = index
        index += 1
        switch byte {
        case UInt8(ascii: ";"): return .end
        case UInt8(ascii: "("): return .opening
        case UInt8(ascii: ")"): return .closing
        case UInt8(ascii: "?"): return .parameter("?")
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"):
            return .quoted(quoted(byte))
        case UInt8(ascii: "["):
            skip { $0 != UInt8(ascii: "]") }
            defer { index += 1 }
            return .quoted(String(decoding: text[(start + 1)..<index], as: UTF8.self))
        case UInt8(ascii: "$"), UInt8(ascii: ":"), UInt8(ascii: "@"):
            skip(StatementScanner.isOfName)
            return .parameter(String(decoding: text[start..<index], as: UTF8.self))
        case let first where StatementScanner.isOfName(first):
            skip(StatementScanner.isOfName)
            return .word(String(decoding: text[start..<index], as: UTF8.self))
        default: return .symbol(byte)
        }
    }

    /// What stands up to the next quote, which ends nothing where it is doubled.
    private mutating func quoted(_ quote: UInt8) -> String {
        var found: [UInt8] = []
        while let byte = peek() {
            index += 1
            if byte == quote {
                guard peek() == quote else { break }
                index += 1
            }
            found.append(byte)
        }
        return String(decoding: found, as: UTF8.self)
    }

    /// Passes blanks and comments over.
    private mutating func passOver() {
        while let byte = peek() {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0C, 0x0D: index += 1
            case UInt8(ascii: "-") where peek(1) == UInt8(ascii: "-"): skip { $0 != 0x0A }
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"):
                index += 2
                while index < text.count, !(peek() == UInt8(ascii: "*") && peek(1) == UInt8(ascii: "/")) { index += 1 }
                index = min(index + 2, text.count)
            default: return
            }
        }
    }

    private func peek(_ offset: Int = 0) -> UInt8? { index + offset < text.count ? text[index + offset] : nil }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        while let byte = peek(), isSkipped(byte) { index += 1 }
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte)
    }
}
