extension ExpressionParser {
    /// A group, or nil after flags that stand alone, such as `(?i)`.
    ///
    /// - Throws: ``PatternError`` where the group is not closed, or is of a kind that is not supported.
    mutating func group() throws(PatternError) -> SyntaxNode? {
        let start = position
        position += 1
        let flags = (ignoresCase, dotMatchesNewline)
        var index: Int?
        if next == UInt8(ascii: "*") {
            throw PatternError(
                "verbs such as '(*…)' are not supported; write '\\*' for the character itself", at: start..<position + 1
            )
        } else if take("?") {
            if take(":") {
                // Flags stay as they are.
            } else if let name = try groupName(from: start) {
                index = try newGroup(at: start..<position)
                if groupNames.updateValue(groupCount, forKey: name) != nil {
                    throw PatternError(
                        "two groups have the name '\(name)'; give each a name of its own", at: start..<position)
                }
            } else if try flagsStandAlone(from: start) {
                return nil
            }
        } else {
            index = try newGroup(at: start..<position)
        }
        depth += 1
        guard depth <= Self.maximumDepth else {
            throw PatternError("groups may be nested \(Self.maximumDepth) deep at most", at: start..<position)
        }
        let body = try alternation()
        guard take(")") else {
            throw PatternError(
                "this group has no ')'; add it, or write '\\(' for the character itself", at: start..<start + 1)
        }
        depth -= 1
        (ignoresCase, dotMatchesNewline) = flags
        return index.map { .capture(body, index: $0) } ?? body
    }

    private mutating func newGroup(at range: Range<Int>) throws(PatternError) -> Int {
        guard groupCount < Self.maximumGroups else {
            throw PatternError(
                "there may be \(Self.maximumGroups) groups that capture at most; write '(?:' for those not needed",
                at: range)
        }
        groupCount += 1
        return groupCount
    }

    /// The name in `(?<name>` or `(?P<name>`; nil if the group is of another kind that may be allowed.
    private mutating func groupName(from start: Int) throws(PatternError) -> String? {
        try refuseExtensions(from: start)
        guard take(text: "P<") || take("<") else { return nil }
        let nameStart = position
        while let byte = next, ByteSet.word.contains(byte) { position += 1 }
        let name = nameStart..<position
        guard let first = name.first, !ByteSet.digit.contains(bytes[first]), take(">") else {
            throw PatternError(
                "a group's name is letters, digits and '_', does not begin with a digit, and ends in '>', "
                    + "as in (?<name>…)",
                at: start..<min(position + 1, bytes.count))
        }
        return text(name)
    }

    /// Flags after `(?`: true for `(?i)`, false for `(?i:`, whose body comes next.
    private mutating func flagsStandAlone(from start: Int) throws(PatternError) -> Bool {
        var value = true
        var seen = false
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "i"):
                ignoresCase = value
                seen = true
            case UInt8(ascii: "s"):
                dotMatchesNewline = value
                seen = true
            case UInt8(ascii: "-") where value:
                value = false
                seen = false
            case UInt8(ascii: ")") where seen:
                return true
            case UInt8(ascii: ":") where seen:
                return false
            default:
                let end = byte < 0x80 ? position : start + 2
                throw PatternError(
                    "unknown kind of group '\(text(start..<end))'; there are '(…)', '(?:…)', '(?<name>…)' and the "
                        + "flags i (ignore case) and s ('.' matches a newline), as in '(?i)' and '(?i:…)'",
                    at: start..<end)
            }
        }
        throw PatternError(
            "this group has no ')'; add it, or write '\\(' for the character itself", at: start..<start + 1)
    }

    /// Throws for what other engines have after `(?`, naming what will do instead.
    private mutating func refuseExtensions(from start: Int) throws(PatternError) {
        let refusals: [(String, String)] = [
            ("=", Self.lookAround), ("!", Self.lookAround), ("<=", Self.lookAround), ("<!", Self.lookAround),
            (
                ">",
                "atomic groups are not supported, nor needed, as matching never backtracks without bound; write '(?:'"
            ),
            ("|", "branch reset is not supported; give the groups of each branch a number of their own"),
            ("(", "conditionals are not supported; write the cases as alternatives, '(?:…|…)'"),
            ("#", "comments are not supported in an expression; put them after a '#' in the map"),
            ("P=", Self.backReference), ("P>", Self.recursion), ("R", Self.recursion), ("&", Self.recursion),
            ("'", "a group's name stands between '<' and '>', as in (?<name>…)"),
            ("m", "the flag m is not supported; an expression has one line, and '^' and '$' are its begin and end"),
            ("x", "the flag x is not supported; write the expression without blanks and comments"),
            ("U", "the flag U is not supported; write '*?' for a lazy repetition"),
        ]
        for (text, message) in refusals where take(text: text) {
            throw PatternError(message, at: start..<position)
        }
        if let byte = next, ByteSet.digit.contains(byte) {
            throw PatternError(Self.recursion, at: start..<position + 1)
        }
    }

    static let lookAround =
        "look-ahead and look-behind are not supported, so that matching takes time in proportion to the URL; "
        + "for an exception write a rule of its own for it before this one"
    static let backReference =
        "back-references are not supported, so that matching takes time in proportion to the URL; "
        + "write out the texts that may be repeated as alternatives, or leave the repetition unchecked"
    static let recursion = "recursion is not supported; write out the nested part"
}
