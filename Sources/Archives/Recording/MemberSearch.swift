import Basics

/// Looks in a text for members of JSON by their names, without asking whether it is JSON.
///
/// What stands between two quotes is a name where a colon follows, whatever stands before: so nothing that is broken,
/// cut off, or put around JSON hides a member. In JSON that is whole these are its members, and no others. A text
/// between quotes that has escapes is looked into as a text of its own, as for JSON that was written into JSON; if it
/// has such a member it is a place as a whole. Beside them there are names in single quotes, as Python writes them, and
/// names without quotes before a value that has some, as in JavaScript and GraphQL.
///
/// How often a byte is looked at has a limit, so a search takes as long as the text is, whatever it says.
struct MemberSearch {
    /// In so many texts in texts members are looked for; in deeper ones for the names alone.
    static let deepest = 6
    /// The longest name, as it is written.
    private static let longestName = 1024
    /// So far behind a name comments are passed over.
    private static let longestComments = 256

    private static let quote = UInt8(ascii: "\"")
    private static let apostrophe = UInt8(ascii: "'")
    private static let backslash = UInt8(ascii: "\\")
    private static let colon = UInt8(ascii: ":")
    private static let data = Array("data:".utf8)

    private let text: UnsafeBufferPointer<UInt8>
    private let names: RedactedNames
    /// In how many texts this one is.
    private let depth: Int
    private var places: [Range<Int>] = []
    /// Where the stretch begins that ends at the next quote, or with the text.
    private var start = 0
    /// Whether the stretch is in quotes, if these come in pairs.
    private var isInside = false
    /// Whether the stretch has to be looked into as a text of its own.
    private var isText = false

    private init(_ text: UnsafeBufferPointer<UInt8>, _ names: RedactedNames, depth: Int) {
        (self.text, self.names, self.depth) = (text, names, depth)
    }

    /// Where the values of members of these names stand, but for null, and texts that have such members; in their
    /// order.
    static func places(
        _ text: UnsafeBufferPointer<UInt8>, _ names: RedactedNames, depth: Int = 0
    ) -> [Range<Int>] {
        guard !names.isEmpty else { return [] }
        var search = MemberSearch(text, names, depth: depth)
        search.run()
        return search.places
    }

    private mutating func run() {
        var index = 0
        while index < text.count {
            switch text[index] {
            case MemberSearch.backslash:
                isText = true
                index += 2
            case MemberSearch.quote: index = endStretch(at: index)
            case MemberSearch.colon: index = passColon(at: index)
            default: index += 1
            }
        }
        if start < text.count { _ = endStretch(at: text.count) }
    }

    /// Where the search goes on behind a quote, or the end.
    private mutating func endStretch(at end: Int) -> Int {
        if end < text.count, let colon = colonBehindName(endingAt: end) { return takeValue(behind: colon) }
        if isText, hasMembers(start..<end) {
            let open = start > 0 && text[start - 1] == MemberSearch.quote ? start - 1 : start
            return take(open..<min(end + 1, text.count))
        }
        start = end + 1
        isInside.toggle()
        isText = false
        return start
    }

    /// Where the search goes on behind a colon before which no double quote stands.
    private mutating func passColon(at colon: Int) -> Int {
        var next = colon + 1
        while next < text.count, text[next] <= 0x20 { next += 1 }
        guard next < text.count, isName(before: colon, valueAt: next) else { return colon + 1 }
        guard isInside else { return takeValue(behind: colon) }
        guard text[next] == MemberSearch.quote else {
            // The value of a member that is in a text is in there too.
            isText = true
            return colon + 1
        }
        // Behind a quote that stands alone, what seems to end a text begins the value.
        return endsText(next) ? colon + 1 : takeValue(behind: colon)
    }

    /// Whether behind a quote comes what comes behind a text of JSON.
    private func endsText(_ quote: Int) -> Bool {
        guard let next = text[(quote + 1)...].first(where: { $0 != 0x20 && $0 != 0x09 }) else { return true }
        return next == 0x0A || next == 0x0D || ",}]:".utf8.contains(next)
    }

    // MARK: Names

    /// Where the colon stands behind the quote at the end of the stretch; nil where the stretch is none of the names.
    private func colonBehindName(endingAt end: Int) -> Int? {
        guard end - start <= MemberSearch.longestName else { return nil }
        var index = end + 1
        while index < text.count, text[index] <= 0x20 { index += 1 }
        guard index < text.count, text[index] == MemberSearch.colon || text[index] == UInt8(ascii: "/"),
            isText ? names.contains(decoded(start..<end)) : names.contains(text[start..<end])
        else { return nil }
        let least = min(index + MemberSearch.longestComments, text.count)
        index = behindBlanks(index, upTo: least, andComments: true)
        return index < text.count && text[index] == MemberSearch.colon ? index : nil
    }

    /// Whether one of the names stands in the stretch before a colon: in single quotes, or in none where the value has
    /// some.
    private func isName(before colon: Int, valueAt value: Int) -> Bool {
        var end = colon
        while end > start, text[end - 1] <= 0x20 { end -= 1 }
        guard end > start else { return false }
        let isQuoted = text[end - 1] == MemberSearch.apostrophe
        guard isQuoted || isQuote(text[value]) else { return false }
        if isQuoted { end -= 1 }
        let least = max(start, end - MemberSearch.longestName)
        var first = end
        while first > least, isQuoted ? text[first - 1] != MemberSearch.apostrophe : isWord(text[first - 1]) {
            first -= 1
        }
        guard first < end, !isQuoted || first > least, names.contains(text[first..<end]) else { return false }
        // An apostrophe alone is none.
        return isQuoted || text[value] == MemberSearch.quote || text[stringEnd(value) - 1] == text[value]
    }

    /// Whether a byte begins a text, in JavaScript too.
    private func isQuote(_ byte: UInt8) -> Bool {
        byte == MemberSearch.quote || byte == MemberSearch.apostrophe || byte == UInt8(ascii: "`")
    }

    private func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80..., UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    // MARK: Values

    /// Takes the value out behind a colon, if there is one.
    private mutating func takeValue(behind colon: Int) -> Int {
        let value = value(behind: colon)
        let isNothing = value.isEmpty || text[value].elementsEqual("null".utf8)
        return isNothing ? pass(value.upperBound) : take(value)
    }

    private mutating func take(_ place: Range<Int>) -> Int {
        places.append(place)
        return pass(place.upperBound)
    }

    private mutating func pass(_ index: Int) -> Int {
        start = index
        isInside = false
        isText = false
        return index
    }

    /// What stands behind a colon, with comments before it, in which there may be anything; empty for nothing.
    private func value(behind colon: Int) -> Range<Int> {
        let start = behindBlanks(colon + 1, upTo: text.count)
        let first = behindBlanks(start, upTo: text.count, andComments: true)
        guard first < text.count else { return start..<text.count }
        let end =
            switch text[first] {
            case let byte where isQuote(byte): stringEnd(first)
            // As Python writes texts and bytes.
            case UInt8(ascii: "u"), UInt8(ascii: "b"):
                first + 1 < text.count && isQuote(text[first + 1]) ? stringEnd(first + 1) : scalarEnd(first)
            case MemberSearch.backslash: escapedEnd(first)
            case UInt8(ascii: "{"), UInt8(ascii: "["): containerEnd(first)
            default: scalarEnd(first)
            }
        return start..<end
    }

    /// Behind white space and what begins a line of an event, and perhaps behind comments, as far as they end before an
    /// end.
    private func behindBlanks(_ start: Int, upTo end: Int, andComments: Bool = false) -> Int {
        var index = start
        while index < end {
            if text[index] <= 0x20 {
                index += 1
            } else if andComments, let behind = commentEnd(index, upTo: end) {
                index = behind
            } else if text[index - 1] == 0x0A || text[index - 1] == 0x0D,
                text[index..<end].starts(with: MemberSearch.data)
            {
                index += MemberSearch.data.count
            } else {
                break
            }
        }
        return index
    }

    /// Behind the comment that begins here, or at the end; nil where none does.
    private func commentEnd(_ start: Int, upTo end: Int) -> Int? {
        guard start + 1 < end, text[start] == UInt8(ascii: "/") else { return nil }
        var index = start + 2
        switch text[start + 1] {
        case UInt8(ascii: "/"):
            while index < end, text[index] != 0x0A, text[index] != 0x0D { index += 1 }
            return index
        case UInt8(ascii: "*"):
            while index + 1 < end {
                if text[index] == UInt8(ascii: "*"), text[index + 1] == UInt8(ascii: "/") { return index + 2 }
                index += 1
            }
            return end
        default: return nil
        }
    }

    /// Behind the quote that ends the text beginning here, or the three that end one beginning with three.
    private func stringEnd(_ start: Int) -> Int {
        let quote = text[start]
        let length = isTriple(start) ? 3 : 1
        var index = start + length
        while index < text.count {
            if text[index] == MemberSearch.backslash {
                index += 2
            } else if text[index] == quote, length == 1 || isTriple(index) {
                return index + length
            } else {
                index += 1
            }
        }
        return text.count
    }

    private func isTriple(_ index: Int) -> Bool {
        index + 2 < text.count && text[index + 1] == text[index] && text[index + 2] == text[index]
    }

    /// Behind a text whose quotes have backslashes before them: at a quote that has no more of them.
    private func escapedEnd(_ start: Int) -> Int {
        let open = text[start...].firstIndex { $0 != MemberSearch.backslash } ?? text.count
        guard open < text.count, isQuote(text[open]) else {
            return scalarEnd(start)
        }
        var escapes = 0
        for index in text.indices[(open + 1)...] {
            if text[index] == text[open], escapes <= open - start { return index + 1 }
            escapes = text[index] == MemberSearch.backslash ? escapes + 1 : 0
        }
        return text.count
    }

    /// Behind the bracket that closes the one here; the end where one is of the wrong kind.
    private func containerEnd(_ start: Int) -> Int {
        var index = start
        // What closes those that are open.
        var open: [UInt8] = []
        while index < text.count {
            switch text[index] {
            case MemberSearch.quote, MemberSearch.apostrophe: index = stringEnd(index)
            case MemberSearch.backslash: index += 2
            case UInt8(ascii: "/"): index = commentEnd(index, upTo: text.count) ?? index + 1
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                open.append(text[index] + 2)
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard open.popLast() == text[index] else { return text.count }
                index += 1
                if open.isEmpty { return index }
            default: index += 1
            }
        }
        return text.count
    }

    /// Before a comma, a closing bracket or the line's end, and the blanks before that.
    private func scalarEnd(_ start: Int) -> Int {
        var end = text[start...].firstIndex { $0 == 0x0A || $0 == 0x0D || ",}]".utf8.contains($0) } ?? text.count
        while end > start + 1, text[end - 1] <= 0x20 { end -= 1 }
        return end
    }

    // MARK: Texts in texts

    private func hasMembers(_ stretch: Range<Int>) -> Bool {
        guard depth < MemberSearch.deepest else { return names.occur(in: text[stretch]) }
        return decoded(stretch).withUnsafeBufferPointer {
            !MemberSearch.places($0, names, depth: depth + 1).isEmpty
        }
    }

    /// What stands there, without its escapes.
    private func decoded(_ stretch: Range<Int>) -> [UInt8] {
        var escapes = JSONEscapes()
        var result: [UInt8] = []
        escapes.decode(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[stretch]), into: &result)
        escapes.finish(into: &result)
        return result
    }
}
