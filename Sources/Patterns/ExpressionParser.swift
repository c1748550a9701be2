/// Reads an expression into a syntax tree by recursive descent.
///
/// The syntax is RE2's, with Perl's reading of each part that both have, but for what would be misread in silence: a
/// brace that begins no repetition and a repetition of a repetition are errors here.
struct ExpressionParser {
    /// Groups within groups; it bounds the depth of every recursion over the tree.
    static let maximumDepth = 100
    /// Groups that capture; a template can name no more.
    static let maximumGroups = 99
    /// The largest count of a repetition, RE2's own.
    static let maximumCount = 1000

    let bytes: [UInt8]
    var position = 0
    var groupCount = 0
    var groupNames: [String: Int] = [:]
    var ignoresCase = false
    var dotMatchesNewline = false
    var depth = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads the whole expression.
    ///
    /// - Throws: ``PatternError`` at the first part that is wrong or not supported.
    mutating func parse() throws(PatternError) -> SyntaxNode {
        let node = try alternation()
        if position < bytes.count {
            throw PatternError("')' closes no group; write '\\)' for the character itself", at: position..<position + 1)
        }
        return node
    }

    // MARK: Reading

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func take(text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    // MARK: Grammar

    /// Branches with `|` between, up to the end of the group or the expression.
    ///
    /// - Throws: ``PatternError`` at the first part that is wrong or not supported.
    mutating func alternation() throws(PatternError) -> SyntaxNode {
        var branches = [try concatenation()]
        while take("|") { branches.append(try concatenation()) }
        return branches.count == 1 ? branches[0] : .alternation(branches)
    }

    private mutating func concatenation() throws(PatternError) -> SyntaxNode {
        var parts: [SyntaxNode] = []
        var run: [UInt8] = []
        while let byte = next, byte != UInt8(ascii: "|"), byte != UInt8(ascii: ")") {
            let start = position
            guard let atom = try atom() else {
                if let byte = next, Self.isQuantifier(byte) { throw nothingToRepeat() }
                continue
            }
            let part = try quantified(atom, from: start)
            if case .literal(let bytes) = part {
                run.append(contentsOf: bytes)
                continue
            }
            if !run.isEmpty { parts.append(.literal(run)) }
            run.removeAll()
            parts.append(part)
        }
        if !run.isEmpty { parts.append(.literal(run)) }
        switch parts.count {
        case 0: return .empty
        case 1: return parts[0]
        default: return .concatenation(parts)
        }
    }

    /// One atom; nil after flags that stand alone.
    private mutating func atom() throws(PatternError) -> SyntaxNode? {
        let start = position
        switch bytes[position] {
        case UInt8(ascii: "("):
            return try group()
        case UInt8(ascii: "["):
            return try characterClass()
        case UInt8(ascii: "."):
            position += 1
            return .set(dotMatchesNewline ? .any : .anyButNewline)
        case UInt8(ascii: "^"):
            position += 1
            return .assertion(.start)
        case UInt8(ascii: "$"):
            position += 1
            return .assertion(.end)
        case UInt8(ascii: "\\"):
            switch try escape(inClass: false) {
            case .byte(let byte): return literal(byte)
            case .scalar(let bytes): return .literal(bytes)
            case .set(let set): return .set(set)
            case .assertion(let assertion): return .assertion(assertion)
            }
        case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "?"):
            throw nothingToRepeat()
        case UInt8(ascii: "{"):
            throw PatternError(
                "'{' has nothing before it to repeat; write '\\{' for the character itself", at: start..<start + 1)
        case 0x80...:
            return .literal(try scalar())
        case let byte:
            position += 1
            return literal(byte)
        }
    }

    private func literal(_ byte: UInt8) -> SyntaxNode {
        guard ignoresCase else { return .literal([byte]) }
        let folded = ByteSet(byte...byte).caseFolded
        return folded.count == 1 ? .literal([byte]) : .set(folded)
    }

    private func nothingToRepeat() -> PatternError {
        PatternError(
            "'\(text(position..<position + 1))' has nothing before it to repeat; "
                + "write '\\\(text(position..<position + 1))' for the character itself, or '.*' for any text",
            at: position..<position + 1)
    }

    // MARK: Repetition

    private static func isQuantifier(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "?"), UInt8(ascii: "{"): true
        default: false
        }
    }

    private mutating func quantified(_ atom: SyntaxNode, from start: Int) throws(PatternError) -> SyntaxNode {
        let quantifier = position
        let minimum: Int
        let maximum: Int?
        switch next {
        case UInt8(ascii: "*"): (minimum, maximum) = (0, nil)
        case UInt8(ascii: "+"): (minimum, maximum) = (1, nil)
        case UInt8(ascii: "?"): (minimum, maximum) = (0, 1)
        case UInt8(ascii: "{"): (minimum, maximum) = try counts()
        default: return atom
        }
        if bytes[quantifier] != UInt8(ascii: "{") { position += 1 }
        let greedy = !take("?")
        if next == UInt8(ascii: "+") {
            throw PatternError(
                "possessive repetition is not supported, nor needed, as matching never backtracks without bound; "
                    + "leave out the last '+'",
                at: quantifier..<position + 1)
        }
        if let byte = next, Self.isQuantifier(byte) {
            throw PatternError(
                "a repetition of a repetition; write '(?:\(text(start..<position)))' to repeat it as a whole",
                at: quantifier..<position + 1)
        }
        return .repetition(atom, minimum: minimum, maximum: maximum, greedy: greedy, range: start..<position)
    }

    /// `{n}`, `{n,}` or `{n,m}`.
    private mutating func counts() throws(PatternError) -> (Int, Int?) {
        let start = position
        position += 1
        let lower = decimal()
        var upper = lower
        var bounded = true
        if take(",") {
            upper = decimal()
            bounded = upper != nil
        }
        guard let lower, take("}") else {
            let hint = lower == nil && upper != nil ? "; write '{0,\(upper ?? 0)}' for 'at most'" : ""
            throw PatternError(
                "'{' begins no repetition such as {2}, {2,} or {2,5}" + hint + "; write '\\{' for the character itself",
                at: start..<min(position + 1, bytes.count))
        }
        guard max(lower, upper ?? 0) <= Self.maximumCount else {
            throw PatternError(
                "a count of a repetition may be \(Self.maximumCount) at most; use '*' or '+' if any number will do",
                at: start..<position)
        }
        if bounded, let upper, upper < lower {
            throw PatternError(
                "the counts of a repetition are in the wrong order; write {\(upper),\(lower)}", at: start..<position)
        }
        return (lower, bounded ? upper : nil)
    }

    /// Decimal digits as a number, `maximumCount + 1` standing for everything above; nil if there is no digit.
    mutating func decimal() -> Int? {
        let start = position
        var value = 0
        while let byte = next, byte >= 0x30, byte <= 0x39 {
            value = min(value * 10 + Int(byte - 0x30), Self.maximumCount + 1)
            position += 1
        }
        return position > start ? value : nil
    }
}
