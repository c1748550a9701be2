/// The members of an object of JSON's, in their order; no two have the same name.
///
/// Two objects are equal where they have the same members in the same order.
public struct JSONObject: Sendable, Hashable {
    /// A name, in UTF-8, and its value.
    public struct Member: Sendable, Hashable {
        public let name: [UInt8]
        public var value: JSONValue
    }

    public private(set) var members: [Member] = []
    /// Where each name is; made for objects of many members only.
    private var indices: [[UInt8]: Int] = [:]
    private static let membersWithoutIndices = 16

    /// An object without members.
    public init() {}

    /// The value of a name, which is compared byte by byte.
    public subscript(name: [UInt8]) -> JSONValue? { index(of: name).map { members[$0].value } }

    /// The value of a name, which is compared byte by byte.
    public subscript(name: String) -> JSONValue? { self[Array(name.utf8)] }

    /// Adds a member behind the others.
    ///
    /// - Returns: false where there is one of that name; then nothing is added.
    public mutating func append(_ name: [UInt8], _ value: JSONValue) -> Bool {
        guard index(of: name) == nil else { return false }
        if !indices.isEmpty {
            indices[name] = members.count
        } else if members.count == JSONObject.membersWithoutIndices {
            for (index, member) in members.enumerated() { indices[member.name] = index }
            indices[name] = members.count
        }
        members.append(Member(name: name, value: value))
        return true
    }

    private func index(of name: [UInt8]) -> Int? {
        indices.isEmpty ? members.firstIndex { $0.name == name } : indices[name]
    }

    public static func == (first: JSONObject, second: JSONObject) -> Bool { first.members == second.members }

    public func hash(into hasher: inout Hasher) { hasher.combine(members) }
}
