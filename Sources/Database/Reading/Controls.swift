/// What a list's parameters ask beside filters: order, part, and what is added to its rows.
struct Controls: Sendable, Equatable {
    /// Which rows of those that match.
    enum Part: Sendable, Equatable {
        case all
        /// An array, with links to other pages (json-server 0.17).
        case page(number: Int64, size: Int64)
        /// An object about the page, with the rows in it (json-server 1.0).
        case wrapped(number: Int64, size: Int64)
        case slice(start: Int64, count: Int64?)
    }

    struct Order: Sendable, Equatable {
        var name: String
        var isDescending: Bool
    }

    var orders: [Order] = []
    var part = Part.all
    var search: [UInt8]?
    var condition: [UInt8]?
    /// Names of `_embed` and `_expand`, without those that come twice.
    var joined: [String] = []

    /// Rows of a page that doesn't say how many.
    static let pageSize: Int64 = 10
    /// Names of `_embed` and `_expand` at most.
    static let maximumJoinedCount = 4

    static let names = [
        "_sort", "_order", "_page", "_limit", "_per_page", "_start", "_end", "_where", "_embed", "_expand", "q",
    ]

    /// The values by name, before they are put together.
    private var values: [String: [UInt8]] = [:]

    init() {}

    /// Takes a parameter.
    ///
    /// - Throws: 400 for a control that is given twice.
    mutating func take(_ parameter: Parameter) throws(Problem) {
        switch parameter.name {
        case "_embed", "_expand":
            for name in parameter.text.split(separator: ",").map(String.init) {
                let name = String(decoding: Array(name.utf8).trimmed, as: UTF8.self)
                guard !name.isEmpty, !joined.contains(where: { $0.asName == name.asName }) else {
                    continue
                }
                joined.append(name)
                // At once: each name is compared with those before it.
                guard joined.count <= Controls.maximumJoinedCount else {
                    throw .badValue("'_embed' and '_expand' name more than \(Controls.maximumJoinedCount) tables")
                }
            }
        default:
            guard values.updateValue(parameter.value, forKey: parameter.name) == nil else {
                throw .badValue("'\(parameter.name)' is given twice")
            }
        }
    }

    /// Puts together what was taken.
    ///
    /// - Throws: 400 for numbers that are none, and for two ways of paging at once.
    mutating func settle() throws(Problem) {
        search = values["q"]
        condition = values["_where"]
        let sort = values["_sort"].map { String(decoding: $0, as: UTF8.self) } ?? ""
        let directions =
            values["_order"].map { String(decoding: $0, as: UTF8.self) }?
            .split(separator: ",", omittingEmptySubsequences: false).map { $0.asciiLowercased } ?? []
        for (index, part) in sort.split(separator: ",").enumerated() {
            let name = String(decoding: Array(part.utf8).trimmed, as: UTF8.self)
            let direction = index < directions.count ? directions[index] : "asc"
            guard direction == "asc" || direction == "desc" || direction.isEmpty else {
                throw .badValue("'_order' is asc or desc, not '\(direction)'")
            }
            let isDescending = name.hasPrefix("-")
            orders.append(
                Order(
                    name: isDescending ? String(name.dropFirst()) : name,
                    isDescending: isDescending != (direction == "desc")))
        }
        let page = try number("_page", from: 1)
        let perPage = try number("_per_page", from: 1)
        let limit = try number("_limit", from: 0)
        let start = try number("_start", from: 0)
        let end = try number("_end", from: 0)
        if perPage != nil {
            guard limit == nil, start == nil, end == nil else { throw Controls.twoWays }
            part = .wrapped(number: page ?? 1, size: perPage ?? Controls.pageSize)
        } else if let page {
            guard start == nil, end == nil else { throw Controls.twoWays }
            part = .page(number: page, size: limit ?? Controls.pageSize)
        } else if start != nil || end != nil || limit != nil {
            guard end == nil || limit == nil else { throw Controls.twoWays }
            let start = start ?? 0
            part = .slice(start: start, count: limit ?? end.map { max(0, $0 - start) })
        }
    }

    private static var twoWays: Problem {
        .badValue(
            "two ways of paging at once: '_page' goes with '_limit' or with '_per_page', '_start' with '_end' or with '_limit'"
        )
    }

    private func number(_ name: String, from least: Int64) throws(Problem) -> Int64? {
        guard let value = values[name] else { return nil }
        guard !value.isEmpty, value.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(String(decoding: value, as: UTF8.self)), number >= least
        else {
            throw .badValue(
                "'\(name)' is a whole number from \(least), not '\(String(decoding: value.prefix(100), as: UTF8.self))'"
            )
        }
        return number
    }
}

extension Substring {
    fileprivate var asciiLowercased: String { String(self).asciiLowercased }
}
