/// Lists of entity tags (RFC 9110 §13.1.1).
enum EntityTags {
    static func isAny(_ value: [UInt8]) -> Bool { value.trimmed.elementsEqual("*".utf8) }

    /// Whether a list has a tag, or is `*`.
    static func contains(_ list: [UInt8], _ tag: [UInt8], weakly: Bool) -> Bool {
        if isAny(list) { return true }
        var index = 0
        while index < list.count {
            var isWeak = false
            if list[index] == UInt8(ascii: "W"), index + 2 < list.count, list[index + 1] == UInt8(ascii: "/") {
                isWeak = true
                index += 2
            }
            guard list[index] == UInt8(ascii: "\"") else {
                index += 1
                continue
            }
            guard let end = list[(index + 1)...].firstIndex(of: UInt8(ascii: "\"")) else { return false }
            if list[index...end].elementsEqual(tag), weakly || !isWeak { return true }
            index = end + 1
        }
        return false
    }
}
