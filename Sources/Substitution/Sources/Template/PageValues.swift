public import JSON
public import Mustache

extension MustacheValue {
    /// A value of JSON's.
    public init(_ json: JSONValue) { self.init(json, like: nil) }

    /// - Parameter shared: the object before this one in a list.
    private init(_ json: JSONValue, like shared: MustacheMapping?) {
        switch json {
        case .null: self = .null
        case .bool(let bool): self = .bool(bool)
        case .number(let number): self = number.integer.map { .integer($0) } ?? number.real.map { .real($0) } ?? .null
        case .string(let text): self = .text(text)
        case .array(let elements):
            var before: MustacheMapping?
            self = .list(
                elements.map { element in
                    let value = MustacheValue(element, like: before)
                    if case .mapping(let mapping) = value { before = mapping }
                    return value
                })
        case .object(let object):
            self = .mapping(
                MustacheMapping(object.members.map { ($0.name, MustacheValue($0.value)) }, like: shared))
        }
    }
}
