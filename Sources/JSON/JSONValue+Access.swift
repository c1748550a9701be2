/// Values written as Swift's literals, and read member by member.
extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(Array(value.utf8)) }

    public init(integerLiteral value: Int) { self.init(value) }

    public init(booleanLiteral value: Bool) { self = .bool(value) }

    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Of members with the same name the first counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject()
        for (name, value) in elements { _ = object.append(Array(name.utf8), value) }
        self = .object(object)
    }

    public init(_ text: String) { self = .string(Array(text.utf8)) }

    public init(_ number: Int) { self = .number(JSONNumber(Array(String(number).utf8), isWhole: true)) }

    /// The value of an object's member; nil for another kind of value, and where there is no such member.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let object) = self else { return nil }
        return object[name]
    }

    /// The text of a string; nil for another kind of value.
    public var stringValue: String? {
        guard case .string(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The bytes of a string; nil for another kind of value.
    public var stringBytes: [UInt8]? {
        guard case .string(let bytes) = self else { return nil }
        return bytes
    }

    /// A number written without a point and an exponent, within 64 bits; nil for another value.
    public var integerValue: Int? {
        guard case .number(let number) = self else { return nil }
        return number.integer.map { Int(clamping: $0) }
    }

    /// The double that is nearest to a number; nil for another kind of value.
    public var realValue: Double? {
        guard case .number(let number) = self else { return nil }
        return number.real
    }

    /// Nil for another kind of value.
    public var boolValue: Bool? {
        guard case .bool(let bool) = self else { return nil }
        return bool
    }

    /// The elements of an array; none for another kind of value.
    public var elements: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }
}
