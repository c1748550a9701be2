/// A parameter of a query, decoded.
struct Parameter: Sendable, Equatable {
    var name: String
    var value: [UInt8]

    /// The value as text.
    var text: String { String(decoding: value, as: UTF8.self) }

    /// Reads a query as browsers write forms: `name=value` joined by `&`, with `+` for a space.
    ///
    /// - Throws: 400 for bytes that aren't UTF-8.
    static func parse(_ query: [UInt8]) throws(Problem) -> [Parameter] {
        var parameters: [Parameter] = []
        for part in query.split(separator: UInt8(ascii: "&")) {
            let end = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            let name = PercentCoding.decoded(part[..<end], plusIsSpace: true)
            let value = PercentCoding.decoded(
                end < part.endIndex ? part[(end + 1)...] : part[part.endIndex...], plusIsSpace: true)
            guard name.isUTF8, value.isUTF8 else { throw .badValue("the query has bytes that are not UTF-8") }
            parameters.append(Parameter(name: String(decoding: name, as: UTF8.self), value: value))
        }
        return parameters
    }
}
