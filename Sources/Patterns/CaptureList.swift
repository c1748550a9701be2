/// Where a match and its groups lie in the bytes that were searched.
///
/// Group 0 is the whole match; groups 1… are what parentheses or stars matched. Keep one list and hand it to one match
/// after another: its storage is reused, so that a match does not allocate once the list has grown to its size.
public struct CaptureList: Sendable {
    /// Begin and end of group n at 2n and 2n + 1; -1 where the group took no part.
    var bounds: [Int] = []

    /// An empty list.
    public init() {}

    /// The number of groups, the whole match included; 0 before a first match and after one that failed.
    public var count: Int { bounds.count / 2 }

    /// The byte range of a group, or nil if it took no part in the match or does not exist.
    public subscript(group: Int) -> Range<Int>? {
        guard group >= 0, group < count else { return nil }
        let lower = bounds[2 * group]
        let upper = bounds[2 * group + 1]
        return lower >= 0 && lower <= upper ? lower..<upper : nil
    }

    /// Adds a group behind the others, as for what stands behind the bytes of a match.
    public mutating func append(_ range: Range<Int>) {
        bounds.append(range.lowerBound)
        bounds.append(range.upperBound)
    }

    mutating func reset(groups: Int) {
        let slots = 2 * groups
        if bounds.count == slots {
            for index in bounds.indices { bounds[index] = -1 }
        } else {
            bounds.removeAll(keepingCapacity: true)
            bounds.append(contentsOf: repeatElement(-1, count: slots))
        }
    }

    mutating func clear() {
        bounds.removeAll(keepingCapacity: true)
    }
}
