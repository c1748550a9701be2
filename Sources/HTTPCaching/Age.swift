import HTTPSemantics

/// How old a response is (RFC 9111 §4.2.3, §5.1).
enum Age {
    /// What the Age field says, in seconds, at most 2³¹; 0 where there is none.
    ///
    /// Of a list or of several lines the first member counts; where that is no non-negative integer, none does.
    static func value(_ fields: FieldSection) -> Int64 {
        guard fields.contains(.age) else { return 0 }
        for line in fields.lines where line.name == .age {
            let first: Int64? = fields.withValue(line) { value in
                var elements = FieldListElements(value)
                guard let element = elements.next() else { return nil }
                return RequestCacheControl.deltaSeconds(element).map { Int64($0) } ?? 0
            }
            if let first { return first }
        }
        return 0
    }

    /// The age at receipt: the larger one of what the Date says and of what the Age says with the response's delay.
    static func correctedInitial(_ response: OriginResponse, date: Int64) -> Int64 {
        let apparent = max(0, response.receivedAt.boundedWall &- date)
        let delay = response.receivedAt.seconds(since: response.requestedAt)
        return min(max(apparent, value(response.fields) &+ delay), ResponseDirectives.largestDelta)
    }
}

extension StoredResponse {
    /// The age in seconds, 0 to 2³¹ (RFC 9111 §4.2.3).
    public func currentAge(at now: CacheInstant) -> Int64 {
        min(correctedInitialAge &+ now.seconds(since: receivedAt), ResponseDirectives.largestDelta)
    }

    /// How many seconds the response is still fresh; 0 or less where it is stale.
    public func timeToLive(at now: CacheInstant) -> Int64 { lifetime.seconds &- currentAge(at: now) }
}
