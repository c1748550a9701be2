/// A value that a template prints, tests or looks into.
///
/// Values are printed and freed by recursion: who builds them from outside bounds their depth (JSON and YAML here have
/// 64 levels). Printing one of more than ``MustacheLimits/valueDepth`` levels is an error.
public enum MustacheValue: Sendable {
    /// Prints nothing, or `null` as JSON, and is false. It is there, though: an outer value of its name stays hidden.
    case null
    case bool(Bool)
    case integer(Int64)
    /// Infinities and what is no number are printed as ``null`` is.
    case real(Double)
    /// Text in UTF-8. Other bytes are printed as they are.
    case text([UInt8])
    case list([MustacheValue])
    case mapping(MustacheMapping)
    /// A list of rows, which share the names of their columns.
    case rows(MustacheRows)
    /// One of some rows.
    case row(MustacheRow)
    /// Members that are made when a template asks for them.
    case object(any MustacheObject)

    /// Text from a string.
    public static func text(_ string: String) -> MustacheValue { .text(Array(string.utf8)) }

    /// Whether a section of this value is rendered: not for `false`, null, an empty list, `""`, and 0, as mustache.js.
    public var isTrue: Bool {
        switch self {
        case .null: false
        case .bool(let value): value
        case .integer(let value): value != 0
        case .real(let value): value != 0 && !value.isNaN
        case .text(let bytes): !bytes.isEmpty
        case .list(let elements): !elements.isEmpty
        case .rows(let rows): rows.count > 0
        case .mapping, .row, .object: true
        }
    }

    /// What a value of this name within it is; nil where there is none.
    ///
    /// A list has its elements by their numbers, the first is `0`, and `length`, as in JavaScript.
    public func member(named name: [UInt8]) -> MustacheValue? {
        switch self {
        case .row(let row): row.member(named: name)
        case .mapping(let mapping): mapping.member(named: name)
        case .object(let object): object.member(named: name)
        case .list(let elements): Self.element(name, count: elements.count) { elements[$0] }
        case .rows(let rows): Self.element(name, count: rows.count) { .row(rows[$0]) }
        case .null, .bool, .integer, .real, .text: nil
        }
    }

    /// Whether ``member(named:)`` can find anything.
    var hasMembers: Bool {
        switch self {
        case .row, .mapping, .object, .list, .rows: true
        case .null, .bool, .integer, .real, .text: false
        }
    }

    private static func element(
        _ name: [UInt8], count: Int, _ element: (Int) -> MustacheValue
    ) -> MustacheValue? {
        if name == Self.length { return .integer(Int64(count)) }
        guard !name.isEmpty, name.count <= 9, name.count == 1 || name[0] != UInt8(ascii: "0") else { return nil }
        var index = 0
        for digit in name {
            guard 0x30...0x39 ~= digit else { return nil }
            index = index &* 10 &+ Int(digit &- 0x30)
        }
        return index < count ? element(index) : nil
    }

    private static let length = Array("length".utf8)
}

/// A value whose members are made when a template asks for them, such as what there is of a request.
public protocol MustacheObject: AnyObject, Sendable {
    /// The value of a name, or nil where there is none. It is asked for each time that a template uses it.
    func member(named name: [UInt8]) -> MustacheValue?

    /// All of its members as a mapping, for printing.
    var whole: MustacheMapping { get }
}
