import Diagnostics
import JSON

/// Reads CSV (RFC 4180): records end at CRLF, LF or CR, fields at commas.
struct CSVReader {
    /// A field of a record.
    struct Field {
        /// What it is of the text, without the quotes.
        let range: Range<Int>
        let isQuoted: Bool
        /// Whether two quotes in it stand for one.
        let hasQuotes: Bool

        /// Whether it is NULL: empty, and not in quotes.
        var isNull: Bool { range.isEmpty && !isQuoted }
    }

    private let bytes: [UInt8]
    /// The byte that is read next.
    private(set) var offset: Int

    /// - Throws: Where the text is not UTF-8.
    init(_ bytes: [UInt8]) throws(TextError) {
        if let invalid = firstInvalidUTF8(bytes) { throw TextError("this is not UTF-8", at: invalid) }
        self.bytes = bytes
        offset = byteOrderMarkLength(bytes)
    }

    /// Reads the next record; an empty line is one with a single field.
    ///
    /// - Parameters:
    ///   - fields: set to its fields.
    ///   - limit: how many of the fields are kept.
    /// - Returns: how many fields it has; nil at the end.
    mutating func next(_ fields: inout [Field], upTo limit: Int) throws(TextError) -> Int? {
        fields.removeAll(keepingCapacity: true)
        guard offset < bytes.count else { return nil }
        var count = 0
        while true {
            let field = try isNext(UInt8(ascii: "\"")) ? quotedField() : plainField()
            if count < limit { fields.append(field) }
            count &+= 1
            guard isNext(UInt8(ascii: ",")) else { break }
            offset &+= 1
        }
        if isNext(0x0D) { offset &+= 1 }
        // LF alone, or behind CR.
        if isNext(0x0A) { offset &+= 1 }
        return count
    }

    /// A field's text.
    func text(_ field: Field) -> [UInt8] {
        guard field.hasQuotes else { return Array(bytes[field.range]) }
        var text: [UInt8] = []
        text.reserveCapacity(field.range.count)
        var index = field.range.lowerBound
        while index < field.range.upperBound {
            text.append(bytes[index])
            index &+= bytes[index] == UInt8(ascii: "\"") ? 2 : 1
        }
        return text
    }

    private func isNext(_ byte: UInt8) -> Bool { offset < bytes.count && bytes[offset] == byte }

    private mutating func plainField() throws(TextError) -> Field {
        let start = offset
        while offset < bytes.count {
            let byte = bytes[offset]
            if byte == UInt8(ascii: ",") || byte == 0x0A || byte == 0x0D { break }
            guard byte != UInt8(ascii: "\"") else {
                throw TextError("a quote in a field that doesn't begin with one; the field needs quotes", at: offset)
            }
            offset &+= 1
        }
        return Field(range: start..<offset, isQuoted: false, hasQuotes: false)
    }

    private mutating func quotedField() throws(TextError) -> Field {
        let quote = offset
        var hasQuotes = false
        offset &+= 1
        while let end = bytes[offset...].firstIndex(of: UInt8(ascii: "\"")) {
            offset = end &+ 1
            if isNext(UInt8(ascii: "\"")) {
                hasQuotes = true
                offset &+= 1
                continue
            }
            let isWhole =
                offset == bytes.count || isNext(UInt8(ascii: ",")) || isNext(0x0A) || isNext(0x0D)
            guard isWhole else {
                throw TextError("a comma is missing behind a field in quotes", at: offset)
            }
            return Field(range: (quote &+ 1)..<end, isQuoted: true, hasQuotes: hasQuotes)
        }
        throw TextError("a field's quote has no end", at: quote)
    }
}
