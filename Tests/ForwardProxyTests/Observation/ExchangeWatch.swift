import HTTPSemantics
import NIOCore
import ProxyTestKit
import Synchronization

@testable import ForwardProxy

/// Keeps all that it sees of a proxy's exchanges.
final class ExchangeWatch: ExchangeObserver, Sendable {
    /// One exchange as it was seen.
    struct Seen: Sendable {
        let request: RequestHead?
        let method: String
        let url: String
        let client: String
        /// A letter a call, in order: `h` head, `b` body, `e` end.
        var calls = ""
        var status = 0
        var lines = ""
        var body: [UInt8] = []
        var record: ExchangeRecord?
        var duration: UInt64 = 0

        /// The calls in the order that is promised, whatever the number of parts.
        var isInOrder: Bool { calls.wholeMatch(of: /(hb*)?e/) != nil }
    }

    private final class Observation: ExchangeObservation {
        private let watch: ExchangeWatch
        private let index: Int

        init(_ watch: ExchangeWatch, _ index: Int) {
            self.watch = watch
            self.index = index
        }

        func head(status: Int, lines: ByteBuffer) {
            watch.change(index, "h") {
                $0.status = status
                $0.lines = String(buffer: lines)
            }
        }

        func body(_ bytes: ByteBuffer) { watch.change(index, "b") { $0.body += bytes.readableBytesView } }

        func ended(_ record: ExchangeRecord, duration: UInt64) {
            watch.change(index, "e") {
                $0.record = record
                $0.duration = duration
            }
        }
    }

    private let exchanges = Mutex<[Seen]>([])

    /// Those that have begun, in order.
    var all: [Seen] { exchanges.withLock { $0 } }

    /// Waits until so many are over, and returns all.
    func ended(_ count: Int) throws -> [Seen] {
        try Wait.until { all.count { $0.record != nil } >= count }
        return all
    }

    func began(_ request: RequestHead?, _ record: ExchangeRecord, client: String) -> (any ExchangeObservation)? {
        exchanges.withLock { exchanges in
            exchanges.append(
                Seen(
                    request: request, method: String(buffer: record.method), url: String(buffer: record.url),
                    client: client))
            return Observation(self, exchanges.count - 1)
        }
    }

    private func change(_ index: Int, _ call: String, _ body: (inout Seen) -> Void) {
        exchanges.withLock { exchanges in
            exchanges[index].calls += call
            body(&exchanges[index])
        }
    }
}

extension TestProxy {
    /// Has a watch see all exchanges from now on.
    func watch() -> ExchangeWatch {
        let watch = ExchangeWatch()
        server.onEachLoop { $0.observers.append(watch) }
        return watch
    }
}
