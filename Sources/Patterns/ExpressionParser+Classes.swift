extension ExpressionParser {
    /// A class in brackets: a set of bytes, or alternatives where it has characters beyond ASCII.
    ///
    /// - Throws: ``PatternError`` where the class is not closed, or holds what no class can.
    mutating func characterClass() throws(PatternError) -> SyntaxNode {
        let start = position
        position += 1
        try refuseSinglePOSIXName(from: start)
        let negated = take("^")
        var set = ByteSet()
        var characters: [[UInt8]] = []
        var isFirst = true
        while true {
            guard let byte = next else {
                throw PatternError(
                    "this class has no ']'; add it, or write '\\[' for the character itself", at: start..<start + 1)
            }
            if byte == UInt8(ascii: "]"), !isFirst {
                position += 1
                break
            }
            isFirst = false
            if byte == UInt8(ascii: "["), let named = try posixClass() {
                set.formUnion(named)
                continue
            }
            try member(into: &set, &characters)
        }
        if ignoresCase { set = set.caseFolded }
        if negated, !characters.isEmpty {
            throw PatternError(
                "a negated class can't have a character beyond ASCII, as it matches one byte; "
                    + "leave it out, or negate its bytes, '\\xHH'",
                at: start..<position)
        }
        if negated { set = set.inverted }
        guard set.count > 0 || !characters.isEmpty else {
            throw PatternError("no byte is in this class, so that it never matches", at: start..<position)
        }
        guard !characters.isEmpty else { return .set(set) }
        let alternatives = characters.map { SyntaxNode.literal($0) }
        return .alternation(set.count > 0 ? [.set(set)] + alternatives : alternatives)
    }

    /// One character or a range.
    private mutating func member(into set: inout ByteSet, _ characters: inout [[UInt8]]) throws(PatternError) {
        let start = position
        let lower = try classAtom()
        guard next == UInt8(ascii: "-"), position + 1 < bytes.count, bytes[position + 1] != UInt8(ascii: "]") else {
            switch lower {
            case .byte(let byte): set.insert(byte)
            case .scalar(let bytes): characters.append(bytes)
            case .set(let other): set.formUnion(other)
            case .assertion: break
            }
            return
        }
        position += 1
        let upper = try classAtom()
        switch (lower, upper) {
        case (.byte(let lower), .byte(let upper)):
            guard lower <= upper else {
                throw PatternError(
                    "the range '\(text(start..<position))' is in the wrong order; "
                        + "put '-' last in the class for the character itself",
                    at: start..<position)
            }
            set.insert(lower...upper)
        case (.scalar, _), (_, .scalar):
            throw PatternError(
                "a range can't have an end beyond ASCII, as a class matches one byte; list the characters",
                at: start..<position)
        default:
            throw PatternError(
                "a range needs a character at both ends; put '-' last in the class for the character itself",
                at: start..<position)
        }
    }

    private mutating func classAtom() throws(PatternError) -> Escape {
        let byte = bytes[position]
        if byte == UInt8(ascii: "\\") { return try escape(inClass: true) }
        if byte >= 0x80 { return .scalar(try scalar()) }
        position += 1
        return .byte(byte)
    }

    /// `[:name:]` or `[:^name:]` within a class; nil if none stands here.
    private mutating func posixClass() throws(PatternError) -> ByteSet? {
        let start = position
        guard start + 1 < bytes.count, bytes[start + 1] == UInt8(ascii: ":") else { return nil }
        var end = start + 2
        while end < bytes.count, ByteSet.word.contains(bytes[end]) || bytes[end] == UInt8(ascii: "^") { end += 1 }
        guard end + 1 < bytes.count, bytes[end] == UInt8(ascii: ":"), bytes[end + 1] == UInt8(ascii: "]") else {
            return nil
        }
        var name = start + 2..<end
        let negated = name.first.map { bytes[$0] == UInt8(ascii: "^") } ?? false
        if negated { name = name.lowerBound + 1..<end }
        guard let set = ByteSet.posixClass(named: text(name)) else {
            throw PatternError(
                "unknown class '[:\(text(name)):]'; there are alnum, alpha, ascii, blank, cntrl, digit, graph, lower, "
                    + "print, punct, space, upper, word and xdigit",
                at: start..<end + 2)
        }
        position = end + 2
        return negated ? set.inverted : set
    }

    /// `[:alpha:]` alone would be a class of its letters, which nobody means.
    private func refuseSinglePOSIXName(from start: Int) throws(PatternError) {
        guard position < bytes.count, bytes[position] == UInt8(ascii: ":") else { return }
        var end = position + 1
        while end < bytes.count, ByteSet.word.contains(bytes[end]) { end += 1 }
        guard end > position + 1, end + 1 < bytes.count, bytes[end] == UInt8(ascii: ":"),
            bytes[end + 1] == UInt8(ascii: "]")
        else { return }
        let name = text(start..<end + 2)
        throw PatternError("a named class stands in a second pair of brackets; write '[\(name)]'", at: start..<end + 2)
    }
}
