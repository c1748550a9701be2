import HTTPSemantics
import NIOCore

/// A field line as the model sees it: two strings.
struct ModelField: Equatable, CustomStringConvertible {
    var name: String
    var value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    var description: String { "\(name): \(value)" }
}

extension [ModelField] {
    /// The values of all lines of that name, in order; `name` is in lower case.
    func values(_ name: String) -> [String] {
        var values: [String] = []
        for field in self where field.name.utf8.count == name.utf8.count && field.name.lowercased() == name {
            values.append(field.value)
        }
        return values
    }

    func first(_ name: String) -> String? { values(name).first }

    func has(_ name: String) -> Bool { first(name) != nil }

    /// Without the fields that Connection nominates, but for those that no message can do without.
    var withoutNominated: [ModelField] {
        let needed: Set<String> = ["authorization", "content-type", "set-cookie", "cookie", "host", "range"]
        let nominated = Set(members("connection").map { $0.lowercased() }).subtracting(needed)
        return filter { !nominated.contains($0.name.lowercased()) }
    }

    /// The list members of all lines of that name.
    func members(_ name: String) -> [String] { values(name).flatMap(ModelText.members) }

    /// The bytes that the rules get, as a parser gives them.
    var section: FieldSection {
        var bytes: [UInt8] = []
        var lines: ContiguousArray<FieldSection.Line> = []
        for field in self {
            let nameStart = bytes.count
            bytes += field.name.utf8
            let nameEnd = bytes.count
            bytes += ": ".utf8
            let valueStart = bytes.count
            bytes += field.value.utf8
            let name = bytes.withUnsafeBytes { FieldName(UnsafeRawBufferPointer(rebasing: $0[nameStart..<nameEnd])) }
            lines.append(
                FieldSection.Line(
                    nameStart: nameStart, nameLength: nameEnd - nameStart, valueStart: valueStart,
                    valueLength: bytes.count - valueStart, name: name))
            bytes += "\r\n".utf8
        }
        return FieldSection(bytes: ByteBuffer(bytes: bytes), lines: lines)
    }

    /// The lines by name in lower case, for comparing without the order of different names.
    var byName: [String: [String]] { Dictionary(grouping: self) { $0.name.lowercased() }.mapValues { $0.map(\.value) } }
}

/// Texts taken apart in the plainest way.
enum ModelText {
    static let tokenCharacters = Set(
        "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)

    static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { tokenCharacters.contains($0) }
    }

    static func trimmed(_ text: some StringProtocol) -> String {
        var rest = Substring(text).utf8
        while let first = rest.first, first == 0x20 || first == 0x09 { rest.removeFirst() }
        while let last = rest.last, last == 0x20 || last == 0x09 { rest.removeLast() }
        return String(Substring(rest))
    }

    /// The members of a list (RFC 9110 §5.6.1): split at the commas outside quotes, trimmed, the empty ones left out.
    static func members(_ value: String) -> [String] {
        guard value.utf8.contains(UInt8(ascii: ",")) else {
            let only = trimmed(value)
            return only.isEmpty ? [] : [only]
        }
        var members: [String] = []
        var member: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        for byte in value.utf8 {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if isQuoted && byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: ",") && !isQuoted {
                members.append(trimmed(String(decoding: member, as: UTF8.self)))
                member = []
                continue
            }
            member.append(byte)
        }
        members.append(trimmed(String(decoding: member, as: UTF8.self)))
        return members.filter { !$0.isEmpty }
    }

    /// What stands between the quotes of a quoted string; nil where the text is not exactly one.
    static func unquoted(_ text: String) -> String? {
        var content: [UInt8] = []
        var isEscaped = false
        let bytes = Array(text.utf8)
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return nil }
        for byte in bytes[1..<bytes.count - 1] {
            if isEscaped {
                content.append(byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                return nil
            } else {
                content.append(byte)
            }
        }
        return isEscaped ? nil : String(decoding: content, as: UTF8.self)
    }

    /// `1*DIGIT`, at most 2³¹ (RFC 9111 §1.2.2); nil for anything else.
    static func seconds(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int64(text) ?? .max, 1 << 31)
    }

    /// The entity tags of a list, as texts.
    static func entityTags(_ values: [String]) -> [String] { values.flatMap(members).filter { opaque($0) != nil } }

    /// An entity tag without `W/`; nil where the text is no entity tag.
    static func opaque(_ tag: String) -> String? {
        let strong = tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
        guard strong.utf8.count >= 2, strong.hasPrefix("\""), strong.hasSuffix("\"") else { return nil }
        return strong.dropFirst().dropLast().contains("\"") ? nil : strong
    }

    static func isStrong(_ tag: String) -> Bool { !tag.hasPrefix("W/") && opaque(tag) != nil }

    /// A date in one of the three forms, in any case (RFC 9111 §4.2); nil for anything else.
    static func date(_ text: String?, now: Int64) -> Int64? {
        guard let text else { return nil }
        var usual = text
        if text == text.lowercased() || text == text.uppercased() {
            usual = text.split(separator: " ", omittingEmptySubsequences: false)
                .map { $0.uppercased() == "GMT" ? "GMT" : capitalised(String($0)) }.joined(separator: " ")
        }
        return Array(usual.utf8).withUnsafeBytes { HTTPDate.parse($0, now: now) }
    }

    /// Each word between dashes with a capital first and small letters behind it.
    private static func capitalised(_ text: String) -> String {
        text.split(separator: "-", omittingEmptySubsequences: false)
            .map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }.joined(separator: "-")
    }
}
