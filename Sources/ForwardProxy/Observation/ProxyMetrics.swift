import NIOCore
import NIOPosix

/// Everything that `/metrics` shows, gathered from where it is counted.
struct ProxyMetrics: Sendable {
    var loops: [LoopMetrics]
    var process: ProcessMetrics

    /// The exchanges of all event loops.
    var exchanges: ExchangeMetrics {
        var sum = ExchangeMetrics()
        for loop in loops { sum.add(loop.exchanges) }
        return sum
    }
}

extension LoopContext {
    /// The metrics of all event loops and of the process.
    func proxyMetrics() -> EventLoopFuture<ProxyMetrics> {
        proxy.roster.metrics(on: eventLoop).flatMap { [proxy, eventLoop] loops in
            proxy.filePool.runIfActive(eventLoop: eventLoop) {
                ProxyMetrics(loops: loops, process: ProcessMetrics.read())
            }
        }
    }
}
