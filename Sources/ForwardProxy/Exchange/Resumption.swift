/// The beginning of an exchange, be it a request's first or one in the place of another, while which the new one may
/// have given the client to a further one already: that one is the client's then.
struct Resumption {
    private var last = 0
    private var depth = 0

    /// Whether an exchange is being begun, and is not in its place.
    var isUnderWay: Bool { depth > 0 }

    /// - Returns: what ``end(_:)`` takes.
    mutating func begin() -> Int {
        depth += 1
        last &+= 1
        return last
    }

    /// - Returns: whether the exchange that was begun is the client's, and no other has been begun meanwhile.
    mutating func end(_ number: Int) -> Bool {
        depth -= 1
        return number == last
    }
}
