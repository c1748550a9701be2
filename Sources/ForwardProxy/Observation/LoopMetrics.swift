import Basics
import NIOConcurrencyHelpers
import NIOCore

/// The state of a client's connection.
enum ConnectionActivity: Int, CaseIterable {
    /// Between requests.
    case idle
    /// A request is being read or answered.
    case active
    /// Relays bytes without looking at them.
    case tunnel
    /// In a TLS handshake.
    case handshake
    /// Only what is left is read or written.
    case closing

    var name: StaticString {
        switch self {
        case .idle: "idle"
        case .active: "active"
        case .tunnel: "tunnel"
        case .handshake: "handshake"
        case .closing: "closing"
        }
    }
}

/// The stage of a transfer from an origin.
enum TransferStage: Int, CaseIterable {
    /// A connection for a tunnel or an upgrade is being made.
    case connecting
    /// The request is on its way, or the head of its response is waited for.
    case waiting
    /// The body of the response comes in.
    case receiving

    var name: StaticString {
        switch self {
        case .connecting: "connecting"
        case .waiting: "waiting"
        case .receiving: "receiving"
        }
    }
}

/// How many transfers of one event loop are at each stage.
struct TransferMetrics: Sendable {
    private(set) var byStage = [Int](repeating: 0, count: TransferStage.allCases.count)

    /// Moves a transfer from one stage to another; nil stands for before its beginning and after its end.
    mutating func move(_ stage: inout TransferStage?, to next: TransferStage?) {
        if let stage { byStage[stage.rawValue] &-= 1 }
        if let next { byStage[next.rawValue] &+= 1 }
        stage = next
    }

    mutating func add(_ other: TransferMetrics) {
        for index in byStage.indices { byStage[index] &+= other.byStage[index] }
    }
}

/// The metrics of one event loop.
struct LoopMetrics: Sendable {
    var exchanges: ExchangeMetrics
    /// By ``ConnectionActivity``.
    var connections: [Int]
    var transfers: TransferMetrics
    /// In nanoseconds.
    var lag: UInt64
}

/// The event loops of a proxy, to be asked for their metrics.
final class LoopRoster: Sendable {
    private let contexts = NIOLockedValueBox<[LoopContext]>([])

    func fill(_ all: [LoopContext]) { contexts.withLockedValue { $0 = all } }

    /// Asks every loop for its metrics. How long a loop takes to answer counts as lag.
    func metrics(on eventLoop: any EventLoop) -> EventLoopFuture<[LoopMetrics]> {
        let asked = monotonicNanoseconds()
        let answers = contexts.withLockedValue { $0 }.map { context in
            context.eventLoop.submit { context.metrics(asked: asked) }
        }
        return EventLoopFuture.whenAllSucceed(answers, on: eventLoop)
    }
}
