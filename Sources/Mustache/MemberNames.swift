/// The names of members, with a way to find one quickly.
final class MemberNames: Sendable {
    /// The names in UTF-8, in their order.
    let names: [[UInt8]]
    /// Where the names stand, if they are too many to be compared one by one.
    private let positions: [[UInt8]: Int]?
    /// The length of the longest name: to find that a longer one is missing costs nothing then.
    private let longest: Int

    /// Up to so many names are compared one by one.
    private static let comparedCount = 12

    init(_ names: [[UInt8]]) {
        self.names = names
        longest = names.lazy.map(\.count).max() ?? 0
        positions = names.count > Self.comparedCount ? Dictionary(zip(names, names.indices)) { $1 } : nil
    }

    /// Where a name stands, the last time if it comes twice; nil where it doesn't.
    func position(of name: [UInt8]) -> Int? {
        guard name.count <= longest else { return nil }
        if let positions { return positions[name] }
        var index = names.count
        while index > 0 {
            index &-= 1
            if names[index] == name { return index }
        }
        return nil
    }
}
