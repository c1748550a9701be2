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
        var words: [String] = []
        var depth = 0
        var hasEnded = false
        let text = Array(sql.utf8)
        var index = 0
        func peek(_ offset: Int = 0) -> UInt8? { index + offset < text.count ? text[index + offset] : nil }
        scanning: while let byte = peek() {
            let start = index
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0C, 0x0D:
                index += 1
                continue
            case UInt8(ascii: "-") where peek(1) == UInt8(ascii: "-"):
                while let next = peek(), next != 0x0A { index += 1; _ = next }
                continue
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"):
                index += 2
                while index < text.count, !(peek() == UInt8(ascii: "*") && peek(1) == UInt8(ascii: "/")) { index += 1 }
                index = min(index + 2, text.count)
                continue
            case UInt8(ascii: ";"):
                index += 1
                hasEnded = true
                continue
            default: break
            }
            if hasEnded {
                problem = "'sql' is one statement; another begins after ';'"
                break scanning
            }
            switch byte {
            case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"):
                index += 1
                while let next = peek(), next != byte { index += 1; _ = next }
                index += 1
            case UInt8(ascii: "["):
                while let next = peek(), next != UInt8(ascii: "]") { index += 1; _ = next }
                index += 1
            case UInt8(ascii: "("):
                depth += 1
                index += 1
            case UInt8(ascii: ")"):
                depth -= 1
                index += 1
            case UInt8(ascii: "?"):
                problem =
                    "'?' has no name; write $1 for a capture, :name for a parameter of the query, @name for a member of the body"
                break scanning
            case UInt8(ascii: "$"), UInt8(ascii: ":"), UInt8(ascii: "@"):
                index += 1
                while let next = peek(), StatementText.isOfName(next) { index += 1; _ = next }
                let name = String(decoding: text[start..<index], as: UTF8.self)
                if name.utf8.count > 1, !parameters.contains(where: { $0.hasBytes(of: name) }) {
                    parameters.append(name)
                }
            case let first where StatementText.isOfName(first):
                while let next = peek(), StatementText.isOfName(next) { index += 1; _ = next }
                if depth == 0 { words.append(String(decoding: text[start..<index], as: UTF8.self).asciiUppercased) }
            default: index += 1
            }
        }
        guard problem == nil else { return }
        guard let first = words.first else {
            problem = "'sql' has no statement"
            return
        }
        let verb = first == "WITH" ? words.first { StatementText.verbs.contains($0) } ?? first : first
        guard StatementText.verbs.contains(verb) else {
            problem = "'sql' is SELECT, INSERT, UPDATE or DELETE, not \(verb)"
            return
        }
        isWrite = verb != "SELECT" && verb != "VALUES"
    }

    private static let verbs: Set<String> = ["SELECT", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE"]

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte)
    }
}
