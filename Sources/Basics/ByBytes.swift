import Glibc

/// A text, or several, equal to another where the bytes are.
///
/// To Swift `é` equals `e` with an accent behind it. To SQLite, to files and to JSON they are two names.
@propertyWrapper
public struct ByBytes<Value: ComparedByBytes>: Hashable {
    public var wrappedValue: Value

    @inlinable
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

    @inlinable
    public init(_ value: Value) { wrappedValue = value }

    @inlinable
    public static func == (one: ByBytes, other: ByBytes) -> Bool {
        one.wrappedValue.hasBytes(of: other.wrappedValue)
    }

    @inlinable
    public func hash(into hasher: inout Hasher) { wrappedValue.hashBytes(into: &hasher) }
}

extension ByBytes: Sendable where Value: Sendable {}

/// Text that can be compared by its bytes in UTF-8.
public protocol ComparedByBytes {
    /// Whether the bytes are the same.
    func hasBytes(of other: Self) -> Bool
    func hashBytes(into hasher: inout Hasher)
}

extension String: ComparedByBytes {
    public func hasBytes(of other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        var (one, other) = (self, other)
        return one.withUTF8 { one in
            other.withUTF8 { other in
                guard let first = one.baseAddress, let second = other.baseAddress else { return true }
                return memcmp(first, second, one.count) == 0
            }
        }
    }

    public func hashBytes(into hasher: inout Hasher) {
        var text = self
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // No text has it, so that it ends one of several.
        hasher.combine(UInt8(0xFF))
    }
}

extension Array: ComparedByBytes where Element: ComparedByBytes {
    @inlinable
    public func hasBytes(of other: [Element]) -> Bool { elementsEqual(other) { $0.hasBytes(of: $1) } }

    @inlinable
    public func hashBytes(into hasher: inout Hasher) {
        hasher.combine(count)
        for element in self { element.hashBytes(into: &hasher) }
    }
}

extension Optional: ComparedByBytes where Wrapped: ComparedByBytes {
    @inlinable
    public func hasBytes(of other: Wrapped?) -> Bool {
        guard let self, let other else { return (self == nil) == (other == nil) }
        return self.hasBytes(of: other)
    }

    @inlinable
    public func hashBytes(into hasher: inout Hasher) {
        hasher.combine(self != nil)
        self?.hashBytes(into: &hasher)
    }
}
