import Glibc
import HTTPSemantics

/// The header block of a message or of one of its parts (RFC 2045 §3, RFC 2557 §4): the fields that matter to readers.
struct MIMEHeader {
    /// The most bytes of one.
    static let limit = 262_144

    /// A field that is kept.
    enum Name: Int, CaseIterable {
        case contentType, transferEncoding, contentID, contentLocation, contentBase, snapshotLocation, subject

        var text: StaticString {
            switch self {
            case .contentType: "content-type"
            case .transferEncoding: "content-transfer-encoding"
            case .contentID: "content-id"
            case .contentLocation: "content-location"
            case .contentBase: "content-base"
            case .snapshotLocation: "snapshot-content-location"
            case .subject: "subject"
            }
        }

        init?(_ name: UnsafeRawBufferPointer) {
            for known in Name.allCases where name.equalsIgnoringCase(known.text) {
                self = known
                return
            }
            return nil
        }

        /// Whether white space of folded lines is none of the value (RFC 2557 §4.4.2).
        var isURL: Bool { self == .contentLocation || self == .contentBase || self == .snapshotLocation }
    }

    private var values: [[UInt8]?] = Array(repeating: nil, count: Name.allCases.count)
    /// Its bytes, with the empty line behind it.
    private(set) var length = 0

    /// Reads a block up to its empty line, to the end, or to a line that is a boundary.
    ///
    /// - Parameters:
    ///   - bytes: from its beginning on; what is behind it doesn't matter.
    ///   - isWhole: whether nothing follows the bytes.
    ///   - isBoundary: whether at this offset, where a line begins with `--`, a boundary stands.
    /// - Returns: nil where it is longer than ``limit``.
    init?(_ bytes: UnsafeRawBufferPointer, isWhole: Bool, isBoundary: (Int) -> Bool = { _ in false }) {
        var current: Name?
        while true {
            guard length <= MIMEHeader.limit else { return nil }
            guard length < bytes.count else { break }
            guard
                !(bytes[length] == 0x2D && length + 1 < bytes.count && bytes[length + 1] == 0x2D && isBoundary(length))
            else { return }
            let (line, next) = MIMEHeader.line(bytes, at: length)
            length = next
            if line.isEmpty { return }
            if line[0] == 0x20 || line[0] == 0x09 {
                if let current { append(line.trimmingOptionalWhitespace, to: current) }
                continue
            }
            current = MIMEHeader.name(line)
            guard let name = current else { continue }
            // Of a field that is given twice the first counts.
            guard values[name.rawValue] == nil else {
                current = nil
                continue
            }
            let colon = line.firstIndex(of: 0x3A) ?? 0
            values[name.rawValue] = Array(line.rebased(colon + 1..<line.count).trimmingOptionalWhitespace)
        }
        guard isWhole else { return nil }
    }

    /// The value of a field: its lines in one, without white space around it.
    subscript(name: Name) -> [UInt8]? { values[name.rawValue] }

    /// The identifier without its angle brackets (RFC 2045 §7); nil where there is none.
    var contentID: [UInt8]? {
        guard let value = self[.contentID] else { return nil }
        let id = MIMEHeader.withoutBrackets(value)
        return id.isEmpty ? nil : id
    }

    static func withoutBrackets(_ value: [UInt8]) -> [UInt8] {
        guard value.first == UInt8(ascii: "<"), value.last == UInt8(ascii: ">"), value.count >= 2 else { return value }
        return Array(value[1..<value.count - 1])
    }

    private mutating func append(_ more: UnsafeRawBufferPointer, to name: Name) {
        if !name.isURL { values[name.rawValue]?.append(0x20) }
        values[name.rawValue]?.append(contentsOf: more)
    }

    /// The line at an offset without its end, and where the next one begins.
    private static func line(_ bytes: UnsafeRawBufferPointer, at start: Int) -> (UnsafeRawBufferPointer, Int) {
        var end = bytes.count
        var next = bytes.count
        if let base = bytes.baseAddress, let found = memchr(base + start, 0x0A, bytes.count - start) {
            end = UnsafeRawPointer(found) - base
            next = end + 1
        }
        while end > start, bytes[end - 1] == 0x0D { end -= 1 }
        return (bytes.rebased(start..<end), next)
    }

    /// The name before a line's colon, where it is one that is kept.
    private static func name(_ line: UnsafeRawBufferPointer) -> Name? {
        guard let colon = line.firstIndex(of: 0x3A) else { return nil }
        return Name(line.rebased(0..<colon).trimmingOptionalWhitespace)
    }
}

/// A Content-Type as mail has it: read leniently, since boundaries are often no tokens and stand without quotes.
struct MIMEType {
    /// `type/subtype` in lower case.
    let essence: [UInt8]
    private let parameters: [(name: [UInt8], value: [UInt8])]

    init(_ value: [UInt8]) {
        var pieces: [[UInt8]] = [[]]
        var isQuoted = false
        var isEscaped = false
        for byte in value {
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == 0x5C {
                isEscaped = true
                pieces[pieces.count - 1].append(byte)
                continue
            } else if byte == 0x22 {
                isQuoted.toggle()
            } else if byte == 0x3B, !isQuoted {
                pieces.append([])
                continue
            }
            pieces[pieces.count - 1].append(byte)
        }
        essence = MIMEType.trimmed(pieces[0][...]).map(\.asciiLowercased)
        parameters = pieces.dropFirst().compactMap { piece in
            guard let equals = piece.firstIndex(of: 0x3D) else { return nil }
            let name = MIMEType.trimmed(piece[..<equals]).map(\.asciiLowercased)
            return (name, MIMEType.unquoted(MIMEType.trimmed(piece[(equals + 1)...])))
        }
    }

    subscript(name: StaticString) -> [UInt8]? {
        parameters.first { parameter in parameter.name.withUnsafeBytes { $0.equals(name) } }?.value
    }

    var isMultipart: Bool { essence.starts(with: "multipart/".utf8) }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        bytes.withUnsafeBytes { Array($0.trimmingOptionalWhitespace) }
    }

    private static func unquoted(_ value: [UInt8]) -> [UInt8] {
        guard value.first == 0x22 else { return value }
        var text: [UInt8] = []
        var isEscaped = false
        for byte in value.dropFirst() {
            if isEscaped {
                isEscaped = false
            } else if byte == 0x5C {
                isEscaped = true
                continue
            } else if byte == 0x22 {
                break
            }
            text.append(byte)
        }
        return text
    }
}
