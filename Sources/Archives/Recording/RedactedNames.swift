import Basics
import HTTPSemantics

/// The names of parameters and members whose values are taken out.
struct RedactedNames: Sendable {
    private let names: Set<[UInt8]>

    /// - Parameter names: in lower case.
    init(_ names: Set<[UInt8]>) { self.names = names }

    var isEmpty: Bool { names.isEmpty }

    /// Whether a name is one of them, whatever its case; of `user[password]` it is what stands in the last brackets.
    func contains(_ name: some Collection<UInt8>) -> Bool {
        guard name.count <= 1024 else { return false }
        let name = name.map(\.asciiLowercased)
        if names.contains(name) { return true }
        guard name.last == UInt8(ascii: "]"), let start = name.lastIndex(of: UInt8(ascii: "[")) else { return false }
        return names.contains(Array(name[(start + 1)...].dropLast()))
    }

    // MARK: Forms

    /// Pairs of a query or a form (WHATWG URL §5.1); all but the values stays as it is written.
    func redactedPairs(_ text: ArraySlice<UInt8>) -> [UInt8] {
        guard !isEmpty else { return Array(text) }
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        for (index, pair) in text.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).enumerated() {
            if index > 0 { result.append(UInt8(ascii: "&")) }
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")), contains(RedactedNames.decoded(pair[..<equals]))
            else {
                result += pair
                continue
            }
            result += pair[...equals] + Redaction.mark
        }
        return result
    }

    private static func decoded(_ name: ArraySlice<UInt8>) -> [UInt8] {
        guard name.contains(UInt8(ascii: "%")) || name.contains(UInt8(ascii: "+")) else { return Array(name) }
        var decoded: [UInt8] = []
        var index = name.startIndex
        while index < name.endIndex {
            if name[index] == UInt8(ascii: "%"), name.endIndex - index > 2, let high = name[index + 1].hexValue,
                let low = name[index + 2].hexValue
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(name[index] == UInt8(ascii: "+") ? 0x20 : name[index])
                index += 1
            }
        }
        return decoded
    }

    // MARK: Multipart

    /// The parts of a form (RFC 7578), those of these names with another content.
    func redactedParts(_ body: [UInt8], boundary: [UInt8]) -> [UInt8] {
        guard !isEmpty, !boundary.isEmpty, boundary.count <= 256 else { return body }
        let delimiter = Array("--".utf8) + boundary
        var result: [UInt8] = []
        result.reserveCapacity(body.count)
        var part = 0
        for place in RedactedNames.places(of: delimiter, in: body[...]) {
            result += redactedPart(body[part..<place])
            part = place
        }
        return result + redactedPart(body[part...])
    }

    /// A part from its delimiter on; one that is JSON without the values of members of these names.
    private func redactedPart(_ part: ArraySlice<UInt8>) -> [UInt8] {
        guard let blank = RedactedNames.places(of: Array("\r\n\r\n".utf8), in: part).first else { return Array(part) }
        guard contains(RedactedNames.name(part[..<blank])) else {
            let content = JSONRedaction.redacted(Array(part[(blank + 4)...]), self)
            return content.map { part[..<(blank + 4)] + $0 } ?? Array(part)
        }
        let end = part.endIndex - blank >= 6 && part.suffix(2).elementsEqual([0x0D, 0x0A]) ? 2 : 0
        return Array(part[..<(blank + 4)]) + Redaction.mark + Array(part.suffix(end))
    }

    /// The value of `name` in a part's Content-Disposition.
    private static func name(_ head: ArraySlice<UInt8>) -> [UInt8] {
        let lines = head.split(separator: 0x0A)
        let line = lines.first { line in
            line.prefix(20).map(\.asciiLowercased).elementsEqual("content-disposition:".utf8)
        }
        guard let line else { return [] }
        for part in line.split(separator: UInt8(ascii: ";")).dropFirst() {
            let part = part.drop { $0 == 0x20 || $0 == 0x09 }
            guard part.prefix(5).map(\.asciiLowercased).elementsEqual("name=".utf8) else { continue }
            return part.dropFirst(5).filter { $0 != UInt8(ascii: "\"") && $0 > 0x20 }
        }
        return []
    }

    /// What stands before, between and behind the places of a text.
    static func pieces(of bytes: ArraySlice<UInt8>, around text: [UInt8]) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var start = bytes.startIndex
        for place in places(of: text, in: bytes) {
            pieces.append(bytes[start..<place])
            start = place + text.count
        }
        return pieces + [bytes[start...]]
    }

    /// Where a text stands, without overlaps.
    static func places(of text: [UInt8], in bytes: ArraySlice<UInt8>) -> [Int] {
        guard let first = text.first, bytes.count >= text.count else { return [] }
        var places: [Int] = []
        var index = bytes.startIndex
        let last = bytes.endIndex - text.count
        while index <= last {
            if bytes[index] == first, bytes[index..<index + text.count].elementsEqual(text) {
                places.append(index)
                index += text.count
            } else {
                index += 1
            }
        }
        return places
    }
}
