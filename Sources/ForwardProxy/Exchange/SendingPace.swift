import NIOCore

/// How a body is sent at a rate: a portion of it, then a pause.
struct SendingPace {
    /// What is sent at once, in bytes: what goes out in a tenth of a second, but at least one.
    let portion: Int
    private let rate: Int

    /// - Parameter rate: bytes a second.
    init(rate: Int) {
        self.rate = max(1, rate)
        portion = max(1, rate / 10)
    }

    /// The time that bytes take at the rate.
    ///
    /// - Parameter count: a portion at most.
    func pause(after count: Int) -> TimeAmount {
        .nanoseconds(Int64((Double(min(count, portion)) * 1e9 / Double(rate)).rounded()))
    }
}
