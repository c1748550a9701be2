/// An entry of a recording as far as its order goes by it.
struct OrderedEntry: Comparable {
    enum Kind {
        /// A document that a browser shows in a window of its own.
        case page
        /// What a browser asks for beside that.
        case ofPage
        /// What a program asks for that is no browser.
        case other
    }

    /// Behind which of what stays in its order an entry stands, and behind how many others there.
    struct Place: Comparable {
        /// 0 for what stands before all.
        var chapter = 0
        var level = 0

        static func < (one: Place, other: Place) -> Bool {
            (one.chapter, one.level) < (other.chapter, other.level)
        }

        mutating func move(behind other: Place?) {
            guard let other else { return }
            self = max(self, Place(chapter: other.chapter, level: other.level + 1))
        }
    }

    /// Deeper paths count as those that they are below.
    private static let deepest = 64

    let index: Int
    let kind: Kind
    let span: RecordingOrder.Span
    let key: [UInt8]
    let method: String
    /// Whether its method changes something.
    let changes: Bool
    /// Host and path.
    let path: [UInt8]
    /// The same for all that may be answered by one another's entries.
    let family: [UInt8]
    /// The lines that say what was asked for beside the URL, and what was answered.
    var request: ArraySlice<UInt8>
    let answer: ArraySlice<UInt8>
    /// Whether its family has different answers, so that it matters behind which changes it stands.
    var isDivided = false
    /// Its number in the order in which the heads of responses came.
    var moment = 0
    var place = Place()

    init(
        _ exchange: RecordedExchange, _ index: Int, _ block: ArraySlice<UInt8>, _ span: RecordingOrder.Span,
        key: [UInt8]
    ) {
        self.index = index
        self.span = span
        self.key = key
        method = exchange.method
        let isRead = method == "GET" || method == "HEAD"
        changes = ["POST", "PUT", "PATCH", "DELETE"].contains(method)
        path = OrderedEntry.path(of: exchange.url)
        family = isRead ? path : path + Array(" \(method)".utf8)
        kind = OrderedEntry.kind(of: exchange)
        (request, answer) = OrderedEntry.parts(of: block)
    }

    /// Host and path of a URL, without a slash at the end.
    private static func path(of url: [UInt8]) -> [UInt8] {
        let start = url.firstRange(of: "://".utf8)?.upperBound ?? 0
        var path = url[start...].prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let parts = path.indices.filter { path[$0] == UInt8(ascii: "/") }
        if parts.count > deepest { path = path[..<parts[deepest]] }
        return Array(path.last == UInt8(ascii: "/") ? path.dropLast() : path)
    }

    /// Frames are parts of a page. (https://www.w3.org/TR/fetch-metadata/#sec-fetch-dest-header)
    private static func kind(of exchange: RecordedExchange) -> Kind {
        func value(_ name: StaticString) -> [UInt8]? { exchange.requestFields.first { $0.isNamed(name) }?.value }
        guard let mode = value("sec-fetch-mode") else { return .other }
        let isShown = value("sec-fetch-dest")?.elementsEqual("document".utf8) ?? true
        return mode.elementsEqual("navigate".utf8) && isShown ? .page : .ofPage
    }

    /// An entry's lines behind the first one: those of `method` and `request`, which come first, and the others.
    private static func parts(of block: ArraySlice<UInt8>) -> (request: ArraySlice<UInt8>, answer: ArraySlice<UInt8>) {
        let rest = block.drop { $0 != 0x0A }
        var line = rest.startIndex
        while line < rest.endIndex {
            let isOption = rest[line...].starts(with: "\n  ".utf8) && !rest[line...].starts(with: "\n   ".utf8)
            let isAsked = ["\n  method:", "\n  request:"].contains { rest[line...].starts(with: $0.utf8) }
            if isOption, !isAsked { break }
            line = rest[(line + 1)...].firstIndex(of: 0x0A) ?? rest.endIndex
        }
        return (rest[..<line], rest[line...])
    }

    static func < (one: OrderedEntry, other: OrderedEntry) -> Bool {
        if one.place.chapter != other.place.chapter { return one.place < other.place }
        if (one.kind == .ofPage) != (other.kind == .ofPage) { return one.kind != .ofPage }
        if one.place != other.place { return one.place < other.place }
        if one.key != other.key { return one.key.lexicographicallyPrecedes(other.key) }
        if one.method != other.method { return one.method < other.method }
        // Of a sequence the first comes first; where all answers are the same there is none, and what changes something
        // is found by its body.
        if one.changes || !one.isDivided, !one.request.elementsEqual(other.request) {
            return one.request.lexicographicallyPrecedes(other.request)
        }
        return one.moment < other.moment
    }

    static func == (one: OrderedEntry, other: OrderedEntry) -> Bool { one.index == other.index }
}

/// The greatest value of those that were noted on a path, above it or below, until some time.
struct PathValues<Value: Comparable> {
    private typealias Noted = (time: Int64, greatest: Value)

    private var own: [[UInt8]: [Noted]] = [:]
    /// With those below.
    private var below: [[UInt8]: [Noted]] = [:]

    /// - Parameter time: no earlier than that of the value before.
    mutating func add(_ value: Value, at path: [UInt8], time: Int64) {
        func note(_ list: inout [Noted]) {
            if let last = list.last, last.greatest >= value { return }
            list.append((time, value))
        }
        note(&own[path, default: []])
        for other in PathValues.above(path) + [path] { note(&below[other, default: []]) }
    }

    func last(around path: [UInt8], until time: Int64 = .max) -> Value? {
        let lists = PathValues.above(path).map { own[$0] } + [below[path]]
        return lists.compactMap(\.self).compactMap { list in
            let count = list.countBefore { $0.time <= time }
            return count > 0 ? list[count - 1].greatest : nil
        }.max()
    }

    private static func above(_ path: [UInt8]) -> [[UInt8]] {
        path.indices.filter { path[$0] == UInt8(ascii: "/") }.map { Array(path[..<$0]) }
    }
}

extension Array {
    /// How many elements stand before the first one for which something does not hold, where it holds for none behind.
    func countBefore(_ holds: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
