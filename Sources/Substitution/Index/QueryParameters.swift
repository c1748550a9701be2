/// The parameters of a query: what stands between its `&`, without those that are empty.
///
/// Bytes are compared as they are after normalisation, so `+` and `%20` differ. A parameter without `=` is one with an
/// empty value: `a` and `a=` are the same.
struct QueryParameters: Sequence, IteratorProtocol {
    private let bytes: UnsafeRawBufferPointer
    private var index: Int

    /// The parameters of a URL of which the path ends at `pathEnd`, where `?` stands if there is a query.
    @inline(__always)
    init(of url: UnsafeRawBufferPointer, pathEnd: Int) {
        bytes = url
        index = pathEnd &+ 1
    }

    /// The next parameter, without a `=` that nothing follows.
    mutating func next() -> UnsafeRawBufferPointer? {
        while index < bytes.count {
            let start = index
            var equals = -1
            while index < bytes.count, bytes[index] != UInt8(ascii: "&") {
                if equals < 0, bytes[index] == UInt8(ascii: "=") { equals = index }
                index &+= 1
            }
            let end = equals == index &- 1 && equals >= start ? equals : index
            index &+= 1
            // "=" alone has neither name nor value.
            if end > start { return UnsafeRawBufferPointer(rebasing: bytes[start..<end]) }
        }
        return nil
    }

    /// How many there are.
    func count() -> Int {
        var copy = self
        var count = 0
        while copy.next() != nil { count &+= 1 }
        return count
    }

    /// Adds these parameters to the hash of a URL without them; their order has no influence.
    ///
    /// - Returns: The hash as it was where there are none.
    func combined(with pathHash: UInt64) -> UInt64 {
        var copy = self
        var sum: UInt64 = 0
        var count: UInt64 = 0
        while let parameter = copy.next() {
            sum &+= URLHash.of(parameter)
            count &+= 1
        }
        return count == 0 ? pathHash : URLHash.combined(pathHash, sum &+ count)
    }

    /// Whether both have the same parameters, each as often, in any order.
    ///
    /// Takes time in proportion to the square of their number where the order differs; the number is that of a rule's
    /// key, since other queries have another count.
    func isPermutation(of other: QueryParameters) -> Bool {
        let count = count()
        guard count == other.count() else { return false }
        var left = self
        var right = other
        var remaining = count
        // Mostly the order is the same.
        while let first = left.next(), let second = right.next(), URLText.equal(first, second) { remaining &-= 1 }
        if remaining == 0 { return true }
        var each = self
        while let parameter = each.next() {
            guard occurrences(of: parameter) == other.occurrences(of: parameter) else { return false }
        }
        return true
    }

    /// Whether each of these is among the parameters of `other`.
    func isSubset(of other: QueryParameters) -> Bool {
        var copy = self
        while let parameter = copy.next() {
            guard other.occurrences(of: parameter) > 0 else { return false }
        }
        return true
    }

    private func occurrences(of parameter: UnsafeRawBufferPointer) -> Int {
        var copy = self
        var count = 0
        while let candidate = copy.next() {
            if URLText.equal(candidate, parameter) { count &+= 1 }
        }
        return count
    }
}
