import HTTPSemantics

/// The operations of a GraphQL document: what stands at its top level (GraphQL, October 2021, §2).
struct GraphQLDocument {
    struct Operation: Equatable {
        enum Kind: CaseIterable {
            case query, mutation, subscription

            fileprivate init?(_ word: ArraySlice<UInt8>) {
                let found = Kind.allCases.first { "\($0)".utf8.elementsEqual(word) }
                guard let found else { return nil }
                self = found
            }
        }

        let kind: Kind
        /// Nil for one without a name.
        var name: [UInt8]?
    }

    /// In their order.
    private(set) var operations: [Operation] = []

    init(_ text: [UInt8]) {
        var tokens = Tokens(text)
        var depth = 0
        // Whether a definition begins here.
        var isFirst = true
        while let token = tokens.next() {
            switch token {
            case .opening(let isBrace):
                // An operation without a word is a query (§2.3).
                if depth == 0, isFirst, isBrace { operations.append(Operation(kind: .query)) }
                isFirst = false
                depth += 1
            case .closing(let isBrace):
                depth = max(0, depth - 1)
                isFirst = depth == 0 && isBrace
            case .name(let word) where depth == 0 && isFirst:
                isFirst = false
                guard let kind = Operation.Kind(word) else { continue }
                var operation = Operation(kind: kind)
                if case .name(let name)? = tokens.peek() { operation.name = Array(name) }
                operations.append(operation)
            case .name, .other: isFirst = false
            }
        }
    }

    /// Whether it changes nothing; what has no operation is none that changes anything.
    ///
    /// - Parameter name: of the operation that is asked for; nil for none.
    func isQuery(_ name: [UInt8]?) -> Bool {
        let named = name.map { name in operations.filter { $0.name == name } } ?? []
        return (named.isEmpty ? operations : named).allSatisfy { $0.kind == .query }
    }

    /// The tokens of a document, as far as they are needed here (§2.1).
    private struct Tokens {
        enum Token {
            case name(ArraySlice<UInt8>)
            /// Of braces, brackets and parentheses.
            case opening(isBrace: Bool)
            case closing(isBrace: Bool)
            /// A string, a number, or another mark.
            case other
        }

        private let text: [UInt8]
        private var position = 0

        init(_ text: [UInt8]) { self.text = text }

        func peek() -> Token? {
            var copy = self
            return copy.next()
        }

        mutating func next() -> Token? {
            passIgnored()
            guard position < text.count else { return nil }
            let start = position
            position += 1
            switch text[start] {
            case UInt8(ascii: "{"): return .opening(isBrace: true)
            case UInt8(ascii: "("), UInt8(ascii: "["): return .opening(isBrace: false)
            case UInt8(ascii: "}"): return .closing(isBrace: true)
            case UInt8(ascii: ")"), UInt8(ascii: "]"): return .closing(isBrace: false)
            case UInt8(ascii: "\""):
                passString()
                return .other
            case let byte where Tokens.isOfName(byte):
                while position < text.count, Tokens.isOfName(text[position]) { position += 1 }
                return ParameterRules.isDigit(byte) ? .other : .name(text[start..<position])
            default: return .other
            }
        }

        private static func isOfName(_ byte: UInt8) -> Bool {
            ParameterRules.isDigit(byte) || (byte | 0x20) &- 0x61 < 26 || byte == UInt8(ascii: "_")
        }

        /// Passes over white space, commas, byte order marks and comments.
        private mutating func passIgnored() {
            while position < text.count {
                let byte = text[position]
                if byte == UInt8(ascii: "#") {
                    while position < text.count, text[position] != 0x0A, text[position] != 0x0D { position += 1 }
                } else if byte <= 0x20 || byte == UInt8(ascii: ",") {
                    position += 1
                } else if text[position...].starts(with: [0xEF, 0xBB, 0xBF]) {
                    position += 3
                } else {
                    return
                }
            }
        }

        /// Passes over the rest of a string, or of a block string, in which only `\"""` is escaped.
        private mutating func passString() {
            let isBlock = text[position...].starts(with: "\"\"".utf8)
            if isBlock { position += 2 }
            while position < text.count {
                let rest = text[position...]
                if isBlock {
                    if rest.starts(with: "\"\"\"".utf8) {
                        position += 3
                        return
                    }
                    position += rest.starts(with: "\\\"\"\"".utf8) ? 4 : 1
                } else {
                    position += rest.first == UInt8(ascii: "\\") ? 2 : 1
                    if rest.first == UInt8(ascii: "\"") || rest.first == 0x0A { return }
                }
            }
            position = min(position, text.count)
        }
    }
}
