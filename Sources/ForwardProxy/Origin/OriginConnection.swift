import Curl
import Glibc
import HTTPSemantics
import Logging
import NIOCore
import NIOPosix

/// A connection to an origin without a request, for tunnels and upgrades: libcurl resolves, connects and goes through a
/// parent proxy, and hands the socket over.
final class OriginConnection: TransferDelegate, @unchecked Sendable {
    // Unchecked: `completion`, `transfer`, `stage` and `thread` are the event loop's; `descriptor`, `failure` and
    // `outbox` the transfer thread's.

    private let loop: LoopContext
    private let clientIsLocal: Bool
    private var completion: ((Result<CInt, ProxyError>) -> Void)?
    private var transfer: Transfer?
    private var stage: TransferStage?
    private var thread: TransferLoop?
    private var host = ""
    private var outbox: TransferOutbox?
    private var descriptor: CInt?
    /// Why an address of the host may not be connected to: the reason where no other one could be.
    private var refusal: ProxyError?

    /// - Parameter completion: called once on the event loop, unless ``cancel()`` came before; it owns the descriptor.
    init(loop: LoopContext, clientIsLocal: Bool, completion: @escaping (Result<CInt, ProxyError>) -> Void) {
        self.loop = loop
        self.clientIsLocal = clientIsLocal
        self.completion = completion
    }

    /// - Parameters:
    ///   - isHTTPS: whether TLS is spoken until its handshake is done: the socket is of no use then.
    ///   - head: the request that the connection is for.
    func connect(host: String, port: UInt16, isHTTPS: Bool = false, for head: RequestHead) {
        self.host = host
        do {
            let (thread, outbox) = try loop.proxy.transports.loop(clientIsLocal: clientIsLocal)
            self.thread = thread
            self.outbox = outbox
            transfer = thread.start(
                .connection(to: host, port: port, isHTTPS: isHTTPS, via: loop.proxy.identity.viaLines(head)),
                delegate: self)
            loop.transfers.move(&stage, to: .connecting)
        } catch {
            loop.proxy.logger.error("\(error)")
            loop.eventLoop.execute { self.complete(.failure(.internalError)) }
        }
    }

    func cancel() {
        completion = nil
        if let transfer { thread?.cancel(transfer) }
        transfer = nil
        loop.transfers.move(&stage, to: nil)
    }

    private func complete(_ result: Result<CInt, ProxyError>) {
        transfer = nil
        loop.transfers.move(&stage, to: nil)
        guard let completion else {
            if case .success(let descriptor) = result { OriginConnection.close(descriptor) }
            return
        }
        self.completion = nil
        completion(result)
    }

    // MARK: The transfer thread's side

    func transfer(_ transfer: Transfer, didReceiveHeaderLine line: UnsafeRawBufferPointer) -> HeaderVerdict { .proceed }
    func transfer(_ transfer: Transfer, didReceiveBody bytes: UnsafeRawBufferPointer) -> BodyVerdict { .consumed }
    func transfer(_ transfer: Transfer, readBodyInto space: UnsafeMutableRawBufferPointer) -> ReadVerdict { .end }
    func trailers(of transfer: Transfer) -> [[UInt8]] { [] }

    func transfer(_ transfer: Transfer, mayConnectTo address: UnsafeRawPointer) -> Bool {
        let verdict = loop.proxy.addressPolicy.judge(
            address.assumingMemoryBound(to: sockaddr.self), clientIsLocal: clientIsLocal)
        guard let refusal = ProxyError(verdict, host: host) else { return true }
        self.refusal = refusal
        return false
    }

    func transfer(_ transfer: Transfer, didConnect descriptor: CInt) { self.descriptor = descriptor }

    func transferDidFinish(_ transfer: Transfer, _ result: TransferResult) {
        let outcome: Result<CInt, ProxyError>
        if let descriptor {
            outcome = .success(descriptor)
        } else {
            outcome = .failure(ProxyError(result, host: host, known: result.hasNoConnection ? refusal : nil))
        }
        outbox?.add(loop) { self.complete(outcome) }
    }
}

extension OriginConnection {
    static func close(_ descriptor: CInt) { Glibc.close(descriptor) }

    /// Makes a channel of a connected socket.
    ///
    /// - Parameter completion: called on the event loop with whether the channel is open, `handlers` in its pipeline.
    static func adopt(
        _ descriptor: CInt, on eventLoop: any EventLoop, handlers: [any ChannelHandler],
        _ completion: @escaping (Bool) -> Void
    ) {
        let handlers = NIOLoopBound(handlers, eventLoop: eventLoop)
        let completion = NIOLoopBound(completion, eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(
                .writeBufferWaterMark, value: ChannelOptions.Types.WriteBufferWaterMark(low: 32 << 10, high: 64 << 10)
            )
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(handlers.value)
                }
            }
            .withConnectedSocket(descriptor)
            .whenComplete { result in
                // A channel that fails has closed the descriptor, whose number may be another one's by now.
                completion.value((try? result.get()) != nil)
            }
    }
}

extension ProxyIdentity {
    /// The Via lines of a request that goes on from here: those that came, and this instance's.
    func viaLines(_ head: RequestHead) -> RequestLines {
        var lines = RequestLines()
        if head.fields.contains(.via) {
            head.fields.forEachLine { line, name, value in
                if line.name == .via { lines.append(name: name, value: value) }
            }
        }
        lines.append("Via", Via.entry(head.version, pseudonym: name.utf8))
        return lines
    }
}
