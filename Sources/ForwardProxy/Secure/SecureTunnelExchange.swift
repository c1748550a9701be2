import HTTPSemantics
import NIOCore
import NIOSSL
import TLSTermination

/// Serves a CONNECT request for a host that the map names: answers 200 and decrypts what follows, with a certificate
/// made for the host. No connection is made.
final class SecureTunnelExchange: Exchange {
    private let authority: Authority
    private let loop: LoopContext
    private weak var client: (any ExchangeClient)?

    init(_ authority: Authority, client: any ExchangeClient) {
        self.authority = authority
        self.client = client
        loop = client.loop
    }

    func receive(_ body: ByteBuffer) {}
    func receiveEnd(trailers: FieldSection?) {}
    func clientBecameWritable() {}
    func clientIsGone() { client = nil }

    func begin() {
        let name = authority.host.hasPrefix("[") ? String(authority.host.dropFirst().dropLast()) : authority.host
        let context = loop.proxy.secureTunnels.context(for: name, on: loop.eventLoop)
        context.assumeIsolated().whenComplete { [self] result in
            guard let client else { return }
            self.client = nil
            switch result {
            case .success(let context): decrypt(client, context)
            case .failure(let error):
                client.fail(error as? ProxyError ?? .internalError)
                client.flush()
            }
        }
    }

    private func decrypt(_ client: any ExchangeClient, _ context: NIOSSLContext) {
        guard let channel = client.takeOver() else { return }
        let record = client.record
        client.record = nil
        var reply = ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n")
        reply.writeImmutableBuffer(loop.proxy.identity.viaLine)
        reply.writeStaticString("\r\n")
        record?.observed?.head(status: 200, lines: reply.fieldLinesOfHead)
        channel.writeAndFlush(reply, promise: nil)
        let handshake = SecureHandshake(
            authority, loop: loop, address: client.address, isLocal: client.isLocal, record: record)
        do {
            let pipeline = channel.pipeline.syncOperations
            let connection = try pipeline.handler(type: ClientConnection.self)
            let watch = handshake.makeWatch()
            try pipeline.addHandlers([watch, NIOSSLServerHandler(context: context), RecordGathering(), handshake])
            pipeline.removeHandler(connection, promise: nil)
            let (unread, inputHasEnded) = client.takeUnread()
            guard !inputHasEnded else { return channel.close(promise: nil) }
            if unread.readableBytes > 0 {
                // Not from the head on: the connection with the proxy may be TLS itself.
                let context = try pipeline.context(handler: watch)
                watch.channelRead(context: context, data: NIOAny(unread))
                context.fireChannelReadComplete()
            }
            channel.read()
        } catch {
            channel.close(promise: nil)
            handshake.fail(.closed)
        }
    }
}
