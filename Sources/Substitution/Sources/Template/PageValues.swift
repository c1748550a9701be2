public import JSON
public import Mustache

extension MustacheValue {
    /// A value of JSON's.
    public init(_ json: JSONValue) {
        switch json {
        case .null: self = .null
        case .bool(let bool): self = .bool(bool)
        case .number(let number): self = number.integer.map { .integer($0) } ?? number.real.map { .real($0) } ?? .null
        case .string(let text): self = .text(text)
        case .array(let elements): self = .list(elements.map(MustacheValue.init))
        case .object(let object):
            self = .mapping(MustacheMapping(object.members.map { ($0.name, MustacheValue($0.value)) }))
        }
    }
}
