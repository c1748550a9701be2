/// Names with their values, in an order.
public final class MustacheMapping: Sendable {
    /// The value of each name.
    public let values: [MustacheValue]
    let members: MemberNames

    /// A mapping of these members, their names in UTF-8; of a name that comes twice the last one is found.
    public init(_ members: [(name: [UInt8], value: MustacheValue)]) {
        // Closures: a key path of a tuple is followed by the runtime, at ten times the cost.
        self.members = MemberNames(members.map { $0.name })
        values = members.map { $0.value }
    }

    /// The same with names that another mapping has too: what finds one in it finds it in all that share them.
    ///
    /// - Parameter shared: one whose names these members may have, in its order.
    public init(_ members: [(name: [UInt8], value: MustacheValue)], like shared: MustacheMapping?) {
        let names = members.map { $0.name }
        self.members = shared.flatMap { $0.members.names == names ? $0.members : nil } ?? MemberNames(names)
        values = members.map { $0.value }
    }

    /// A mapping of these members, their names as text.
    public convenience init(_ members: KeyValuePairs<String, MustacheValue>) {
        self.init(members.map { (name: Array($0.key.utf8), value: $0.value) })
    }

    /// The names, in UTF-8, in the order that they are printed in.
    public var names: [[UInt8]] { members.names }

    /// The value of a name, or nil.
    public func member(named name: [UInt8]) -> MustacheValue? {
        members.position(of: name).map { values[$0] }
    }
}
