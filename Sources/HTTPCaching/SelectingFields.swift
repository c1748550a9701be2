public import HTTPSemantics

/// The request fields that a response was selected by, with the values of the request it was stored for (RFC 9111
/// §4.1).
///
/// They are fields of the request as it is forwarded (``CacheRequest/fields``, and this proxy's entry in Via): a field
/// that the origin does not get can't select. Values are compared whole and line by line, since origins read several
/// lines in different ways. In fields that are known to be lists, whitespace beside commas and semicolons doesn't
/// count, nor do empty members; the case of members doesn't count if the field defines none. An absent field matches
/// only an absent one.
public struct SelectingFields: Sendable, Equatable {
    /// In lower case, sorted, no duplicates; empty where there is no Vary.
    public var names: [[UInt8]]
    /// For each name the value, normalised; nil where the request had no such field.
    public var values: [[UInt8]?]

    /// How many fields a Vary may name; a response with more is not stored.
    public static let maximumNames = 16

    /// No fields, for a response without Vary: it suits every request.
    public static let none = SelectingFields(names: [], values: [])

    /// For a Vary with `*`: the response suits no request.
    static let never = SelectingFields(names: [[UInt8(ascii: "*")]], values: [nil])

    /// - Parameter values: As many as names.
    public init(names: [[UInt8]], values: [[UInt8]?]) {
        self.names = names
        self.values = values
    }

    /// Whether a request has the same values.
    public func matches(_ request: CacheRequest) -> Bool { matches(request.fields, request.version) }

    /// Whether a request has the same values.
    ///
    /// - Parameters:
    ///   - request: its fields that are forwarded.
    ///   - version: the version in which it was received.
    public func matches(_ request: FieldSection, _ version: HTTPVersion) -> Bool {
        guard names.count == values.count else { return false }
        for (name, value) in zip(names, values) {
            guard name.count != 1 || name.first != UInt8(ascii: "*") else { return false }
            let recognised = name.withUnsafeBytes { FieldName($0) }
            guard SelectingValue.equals(value, name, recognised, of: request, version) else { return false }
        }
        return true
    }

    /// What the Vary of a response names.
    enum Nomination: Equatable {
        case fields([[UInt8]])
        /// `*`, or a member that is not a field name: nobody knows by which fields the response was selected.
        case any
        /// More names than ``maximumNames``.
        case tooMany
    }

    static func nomination(by response: FieldSection) -> Nomination {
        guard response.contains(.vary) else { return .fields([]) }
        var names: [[UInt8]] = []
        var isAny = false
        var isTooLong = false
        response.forEachElement(of: .vary) { element in
            guard !isAny else { return }
            guard element.isToken, !element.equals("*") else {
                isAny = true
                return
            }
            // Names are few, so that looking through them is quicker than hashing; what exceeds them is not kept.
            guard !isTooLong, !names.contains(where: { $0.withUnsafeBytes { element.equalsIgnoringCase($0) } }) else {
                return
            }
            guard names.count < maximumNames else {
                isTooLong = true
                return
            }
            names.append(element.map(\.asciiLowercased))
        }
        if isAny { return .any }
        if isTooLong { return .tooMany }
        return .fields(names.sorted { $0.lexicographicallyPrecedes($1) })
    }

    /// The values that a request has for the names.
    init(names: [[UInt8]], of request: CacheRequest) {
        self.names = names
        values = names.map { name in
            SelectingValue.value(name, name.withUnsafeBytes { FieldName($0) }, of: request.fields, request.version)
        }
    }
}
