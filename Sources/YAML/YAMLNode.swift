public import Diagnostics

/// A YAML value as a tree, with the places of its parts.
///
/// Meant for what is small, such as one rule; a document of any size is read with ``YAMLEventParser``.
public enum YAMLNode: Sendable {
    case scalar(YAMLScalar)
    case sequence([YAMLNode], TextSpan)
    /// Key and value pairs in the order of the source; a key may come twice (see ``duplicateKeys()``).
    case mapping([Entry], TextSpan)

    /// A key and its value in a mapping.
    public struct Entry: Sendable {
        public var key: YAMLNode
        public var value: YAMLNode

        public init(key: YAMLNode, value: YAMLNode) {
            self.key = key
            self.value = value
        }
    }

    /// From its first to its last character.
    public var span: TextSpan {
        switch self {
        case .scalar(let scalar): return scalar.span
        case .sequence(_, let span), .mapping(_, let span): return span
        }
    }

    /// The scalar; nil for a collection.
    public var scalar: YAMLScalar? {
        if case .scalar(let scalar) = self { return scalar }
        return nil
    }

    /// The elements of a sequence; nil for anything else.
    public var elements: [YAMLNode]? {
        if case .sequence(let elements, _) = self { return elements }
        return nil
    }

    /// The pairs of a mapping; nil for anything else.
    public var entries: [Entry]? {
        if case .mapping(let entries, _) = self { return entries }
        return nil
    }

    /// The value of the first key of a mapping that is this text; nil without one, and for anything but a mapping.
    public subscript(key: StaticString) -> YAMLNode? {
        entries?.first { $0.key.scalar.map { $0 == key } ?? false }?.value
    }

    /// What it is, in words for a message: `a mapping`, `a list`, `text`, `an integer`, `a number`, `a boolean`,
    /// `null`.
    public var kind: String {
        switch self {
        case .mapping: return "a mapping"
        case .sequence: return "a list"
        case .scalar(let scalar):
            switch scalar.value {
            case .null: return "null"
            case .boolean: return "a boolean"
            case .integer, .integerOverflow: return "an integer"
            case .float: return "a number"
            case .text: return "text"
            }
        }
    }

    /// The keys of a mapping that came before, each with its first occurrence; empty for anything but a mapping.
    ///
    /// Scalar keys are compared by their bytes, so `1` and `"1"` are the same; keys that are collections are left out.
    public func duplicateKeys() -> [(first: YAMLScalar, repeated: YAMLScalar)] {
        var seen: [ArraySlice<UInt8>: YAMLScalar] = [:]
        var duplicates: [(first: YAMLScalar, repeated: YAMLScalar)] = []
        for key in (entries ?? []).lazy.compactMap(\.key.scalar) {
            if let first = seen[key.bytes] {
                duplicates.append((first, key))
            } else {
                seen[key.bytes] = key
            }
        }
        return duplicates
    }
}
