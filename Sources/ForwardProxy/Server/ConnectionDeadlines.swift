/// How long a client's connection may take for what: nanoseconds.
struct ConnectionPatience: Equatable {
    /// Between requests.
    var idle: UInt64
    /// For a header section.
    var head: UInt64
    /// For any part of a body, and for taking any of what is written.
    var silence: UInt64

    /// For a request, or a tunnel's next bytes, that may be on the way when the server stops.
    static let lastRequest: UInt64 = 250_000_000
    /// A tunnel that has carried something in this time before the server stops is in use.
    static let tunnelInUse: UInt64 = 1_000_000_000
    /// For closing, once the output is closed, and for any part of a body that is given up until then: the client waits
    /// for the end of its connection.
    static let lingering: UInt64 = 2_000_000_000
    /// Until a client that has closed its output is asked whether it is still there, and between two such questions.
    static let beforeProbe: UInt64 = 200_000_000
    static let betweenProbes: UInt64 = 1_000_000_000
    /// How long a client may take nothing of a response, or a tunnel's side what is left when the other is gone: so
    /// many times the silence timeout, since a kernel's buffers hold some minutes' worth for a slow reader.
    static func stall(_ silence: UInt64) -> UInt64 { 10 &* min(silence, .max / 10) }
}

/// What a client's connection waits for, and until when, as a value.
///
/// Times are monotonic, in nanoseconds; ``ClientConnection`` reads the clock and performs what the functions return.
struct ConnectionDeadlines: Equatable {
    /// What the deadline is for.
    enum Wait: Equatable { case nothing, request, lastRequest, head, body, rest, closing, lingering }

    /// What a deadline that has passed leads to.
    enum Action: Equatable {
        case none
        /// Wait for the same as long again.
        case renew
        /// Cut the connection off.
        case abort
        case close
        /// Close the output behind a response whose request's body doesn't come.
        case endReading
        /// Answer 408 in the place of a request whose header section, or whose body, doesn't come.
        case refuseHead
        case refuseBody
    }

    private(set) var wait = Wait.nothing
    private var deadline = UInt64.max
    /// The time, where it has just been read.
    var knownTime: UInt64?
    private var nextProbe = UInt64.max
    private var stalledSince = UInt64.max
    private var stalledBytes = 0

    /// A request has come: nothing is waited for.
    mutating func beganRequest() {
        wait = .nothing
        deadline = .max
        nextProbe = .max
    }

    mutating func expect(_ wait: Wait, _ patience: ConnectionPatience, now: @autoclosure () -> UInt64) {
        self.wait = wait
        let amount: UInt64? =
            switch wait {
            case .nothing: nil
            case .request: patience.idle
            case .lastRequest: ConnectionPatience.lastRequest
            case .head: patience.head
            case .body, .closing: patience.silence
            case .rest, .lingering: ConnectionPatience.lingering
            }
        deadline = amount.map { (knownTime ?? now()) &+ $0 } ?? .max
    }

    func hasPassed(_ now: UInt64) -> Bool { now >= deadline }

    /// - Parameter pending: bytes that are written and have not left yet.
    func timedOut(_ state: ConnectionState, bodyIsWanted: Bool, pending: Int) -> Action {
        switch wait {
        case .nothing: return .none
        // The last response may still be on its way to a client that reads slowly: ``isStalled`` gives that one up.
        case .request: return pending > 0 ? .renew : .abort
        // So it may be here; the end of the grace bounds that.
        case .lastRequest: return pending > 0 ? .renew : .abort
        case .lingering: return .close
        case .closing: return pending > 0 ? .renew : .close
        case .rest: return .endReading
        case .head: return .refuseHead
        case .body:
            guard state.awaitsBody else { return .none }
            if case .draining = state.phase { return .abort }
            // The client may owe nothing just now: reading is held back until the origin takes more.
            return bodyIsWanted ? .refuseBody : .renew
        }
    }

    /// Whether a whole answer may be on its way behind the exchange's end.
    var leavesBytes: Bool { wait == .request || wait == .closing }

    /// The client has closed its output, and may be gone: that looks the same.
    mutating func inputEnded(now: UInt64) { nextProbe = now &+ ConnectionPatience.beforeProbe }

    /// Whether it is time to ask a client that has closed its output whether it is still there.
    mutating func probes(now: UInt64) -> Bool {
        guard now >= nextProbe else { return false }
        nextProbe = now &+ ConnectionPatience.betweenProbes
        return true
    }

    /// Whether a client has taken nothing of a response for so long that it is given up.
    ///
    /// - Parameter pending: bytes that wait for it; nil where it takes what it gets, or nothing is under way.
    mutating func isStalled(pending: Int?, _ patience: ConnectionPatience, now: UInt64) -> Bool {
        guard let pending else {
            stalledSince = .max
            return false
        }
        if stalledSince == .max || pending != stalledBytes {
            stalledSince = now
            stalledBytes = pending
        }
        guard now &- stalledSince > ConnectionPatience.stall(patience.silence) else { return false }
        stalledSince = .max
        return true
    }
}
