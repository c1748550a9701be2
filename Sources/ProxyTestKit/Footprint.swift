/// What a process holds: compared before and after, it shows what was leaked.
public struct Footprint: Sendable {
    public var residentBytes: Int
    /// The open descriptors, each with what it is.
    public var openDescriptors: [String]
    public var descriptors: Int { openDescriptors.count }

    public init(residentBytes: Int, openDescriptors: [String]) {
        self.residentBytes = residentBytes
        self.openDescriptors = openDescriptors
    }
}

extension RunningBinary {
    /// What the process holds now.
    public var footprint: Footprint {
        Footprint(residentBytes: residentBytes, openDescriptors: openDescriptors)
    }

    /// Waits until the process holds no more than before, and returns what it holds then, or at the end of the time.
    ///
    /// - Parameters:
    ///   - memory: by how many bytes it may have grown.
    ///   - meanwhile: done from time to time, such as a request that makes the proxy notice that an origin has closed.
    public func settle(
        to before: Footprint, memory: Int, seconds: Double = Wait.limit / 2, meanwhile: () throws -> Void = {}
    ) rethrows -> Footprint {
        let deadline = Clock.seconds + seconds
        while true {
            try meanwhile()
            var now = footprint
            let isSettled = Wait.holds(within: 0.2) {
                now = footprint
                return now.descriptors <= before.descriptors && now.residentBytes <= before.residentBytes + memory
            }
            if isSettled || Clock.seconds > deadline { return now }
        }
    }

    /// The most memory in use while `body` runs, looked at between its steps.
    ///
    /// - Parameter body: one step; false ends the measuring.
    public func peakResidentBytes(while body: () throws -> Bool) rethrows -> Int {
        var peak = residentBytes
        while try body() { peak = max(peak, residentBytes) }
        return max(peak, residentBytes)
    }

    /// The most memory in use in the next so many seconds.
    public func peakResidentBytes(for seconds: Double) -> Int {
        var peak = 0
        _ = Wait.keeps(for: seconds) {
            peak = max(peak, residentBytes)
            return true
        }
        return peak
    }
}
