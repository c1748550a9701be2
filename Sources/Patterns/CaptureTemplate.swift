/// A text in which `$1` to `$99`, `${1}` and `${name}` stand for what groups or stars matched, and `$$` for a dollar.
///
/// All digits after `$` are its number, so `$12` is group 12 and never group 1 with a 2 after it, which is `${1}2`;
/// `users-v$1.json` is as it looks. Any other use of `$` is an error.
public struct CaptureTemplate: Sendable, Equatable {
    /// A group that a template names.
    public struct Reference: Hashable, Sendable {
        public enum Group: Hashable, Sendable {
            case number(Int)
            case name(String)
        }

        public let group: Group

        /// The bytes of the template that are the reference, its `$` included.
        public let range: Range<Int>
    }

    private enum Part: Sendable, Equatable {
        case text(Range<Int>)
        case group(Int)
        /// A name that was not resolved, which expands to nothing.
        case name(String)
    }

    private var parts: [Part] = []
    /// The literal texts one after another, `$$` made `$`.
    public private(set) var text: [UInt8] = []

    /// The groups that the template names, in its order.
    public private(set) var references: [Reference] = []

    /// Whether the template names no group, so that it always expands to `constant`.
    public var isConstant: Bool { references.isEmpty }

    /// What the template expands to if it names no group; nil if it does.
    public var constant: [UInt8]? { isConstant ? text : nil }

    /// The highest number of a group that the template names; 0 if none.
    public var maximumGroup: Int {
        references.reduce(0) { maximum, reference in
            if case .number(let number) = reference.group { max(maximum, number) } else { maximum }
        }
    }

    /// Reads a template.
    ///
    /// - Throws: ``PatternError`` with offsets into the UTF-8 form of `template`, where a `$` begins nothing.
    public init(_ template: String) throws(PatternError) {
        try self.init(Array(template.utf8))
    }

    /// Reads a template in UTF-8.
    ///
    /// - Throws: ``PatternError`` where a `$` begins nothing.
    public init(_ template: [UInt8]) throws(PatternError) {
        var position = 0
        var literalStart = 0
        while position < template.count {
            guard template[position] == UInt8(ascii: "$") else {
                text.append(template[position])
                position += 1
                continue
            }
            if position + 1 < template.count, template[position + 1] == UInt8(ascii: "$") {
                text.append(UInt8(ascii: "$"))
                position += 2
                continue
            }
            let reference = try Self.reference(in: template, at: position)
            if literalStart < text.count { parts.append(.text(literalStart..<text.count)) }
            literalStart = text.count
            switch reference.group {
            case .number(let number): parts.append(.group(number))
            case .name(let name): parts.append(.name(name))
            }
            references.append(reference)
            position = reference.range.upperBound
        }
        if literalStart < text.count { parts.append(.text(literalStart..<text.count)) }
    }

    /// The references to groups that do not exist, given the highest group and the numbers of the named ones.
    public func missing(groupCount: Int, names: [String: Int] = [:]) -> [Reference] {
        references.filter { reference in
            switch reference.group {
            case .number(let number): number > groupCount
            case .name(let name): names[name] == nil
            }
        }
    }

    /// Replaces the names of groups by their numbers. A name that is not in `names` stays, and expands to nothing.
    public mutating func resolve(names: [String: Int]) {
        for index in parts.indices {
            if case .name(let name) = parts[index], let number = names[name] { parts[index] = .group(number) }
        }
    }

    /// Appends the text with the groups filled in; does not allocate if `output` has the capacity.
    ///
    /// A group that took no part or does not exist is empty. `captures` are those of a match in `input`.
    public func expand(into output: inout [UInt8], captures: CaptureList, of input: UnsafeRawBufferPointer) {
        for part in parts {
            switch part {
            case .text(let range):
                output.append(contentsOf: text[range])
            case .group(let number):
                guard let range = captures[number], range.upperBound <= input.count else { continue }
                output.append(contentsOf: UnsafeRawBufferPointer(rebasing: input[range]))
            case .name:
                continue
            }
        }
    }

    /// Whether `body` holds for all groups that took part, in the template's order.
    ///
    /// - Parameter body: gets how many bytes of ``text`` stand before the group, what it matched, and whether it is
    ///   what the template ends with.
    public func allGroups(
        captures: CaptureList, of input: UnsafeRawBufferPointer,
        satisfy body: (Int, UnsafeRawBufferPointer, Bool) -> Bool
    ) -> Bool {
        var before = 0
        for (index, part) in parts.enumerated() {
            switch part {
            case .text(let range): before = range.upperBound
            case .group(let number):
                guard let range = captures[number], range.upperBound <= input.count else { continue }
                let group = UnsafeRawBufferPointer(rebasing: input[range])
                guard body(before, group, index == parts.count - 1) else { return false }
            case .name: continue
            }
        }
        return true
    }

    // MARK: Reading

    /// The reference whose `$` is at `start`.
    private static func reference(in template: [UInt8], at start: Int) throws(PatternError) -> Reference {
        var position = start + 1
        if position < template.count, template[position] == UInt8(ascii: "{") {
            position += 1
            let nameStart = position
            while position < template.count, ByteSet.word.contains(template[position]) { position += 1 }
            let name = template[nameStart..<position]
            guard let first = name.first, position < template.count, template[position] == UInt8(ascii: "}") else {
                throw PatternError(
                    "'${' begins no reference such as ${1} or ${name}; write '$$' for a dollar",
                    at: start..<min(position + 1, template.count))
            }
            let range = start..<position + 1
            guard ByteSet.digit.contains(first) else {
                return Reference(group: .name(String(decoding: name, as: UTF8.self)), range: range)
            }
            return Reference(group: .number(try number(name, at: range)), range: range)
        }
        while position < template.count, ByteSet.digit.contains(template[position]) { position += 1 }
        let digits = template[start + 1..<position]
        guard !digits.isEmpty else {
            throw PatternError(
                "'$' begins no reference such as $1 or ${name}; write '$$' for a dollar", at: start..<start + 1)
        }
        return Reference(group: .number(try number(digits, at: start..<position)), range: start..<position)
    }

    private static func number(_ digits: ArraySlice<UInt8>, at range: Range<Int>) throws(PatternError) -> Int {
        let text = String(decoding: digits, as: UTF8.self)
        guard digits.count <= 2, digits.allSatisfy(ByteSet.digit.contains), digits.first != UInt8(ascii: "0") else {
            throw PatternError(
                "'\(text)' is no number of a group; they are 1 to 99, and '${1}0' is group 1 with a 0 after it",
                at: range)
        }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
