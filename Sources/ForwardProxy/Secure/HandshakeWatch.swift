import NIOCore
import TLSTermination

/// Reads a client's side of a TLS handshake before the TLS handler does: the host that the client asks for, and an
/// alert that it sends in the clear.
///
/// Clients with OpenSSL send such an alert, in TLS 1.3 too, when they don't trust a certificate. The TLS library
/// expects encrypted records by then, and reports only that the record is too short.
final class HandshakeWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var hello = ClientHelloReader()
    private let mayAskFor: ([UInt8]) -> Bool
    private let whenRefused: () -> Void
    private let whenInTheClear: (ByteBuffer) -> Void
    private var hasBegun = false
    private var isRefused = false
    /// The alert's description (RFC 8446 §6).
    private(set) var alert: UInt8?

    /// - Parameters:
    ///   - mayAskFor: whether a client may name this host in TLS.
    ///   - whenRefused: called when the client has named another host and was sent an alert; the TLS handler sees
    ///     nothing of this.
    ///   - whenInTheClear: called with the first bytes where they begin as a request does and not as TLS.
    init(
        mayAskFor: @escaping ([UInt8]) -> Bool, whenRefused: @escaping () -> Void,
        whenInTheClear: @escaping (ByteBuffer) -> Void
    ) {
        self.mayAskFor = mayAskFor
        self.whenRefused = whenRefused
        self.whenInTheClear = whenInTheClear
    }

    /// Whether the client has named no host, or one that it may name.
    var helloIsAccepted: Bool {
        switch hello.verdict {
        case .name, .noName: !isRefused
        case .incomplete, .malformed: false
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        let bytes = unwrapInboundIn(data)
        if !hasBegun, bytes.readableBytes > 0 {
            hasBegun = true
            if HandshakeWatch.isRequest(bytes.readableBytesView) { return whenInTheClear(bytes) }
        }
        if hello.verdict == .incomplete {
            bytes.withUnsafeReadableBytes { hello.read($0) }
            if case .name(let name) = hello.verdict, !mayAskFor(name) {
                isRefused = true
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: HandshakeWatch.unrecognizedName)), promise: nil)
                return whenRefused()
            }
        }
        if let found = HandshakeWatch.alert(in: bytes.readableBytesView.suffix(7)) { alert = found }
        context.fireChannelRead(data)
    }

    /// Whether bytes begin as a request does, as far as they are there; a TLS record begins with 22 (RFC 8446 §5.1).
    private static func isRequest(_ bytes: ByteBufferView) -> Bool {
        methods.contains { $0.starts(with: bytes.prefix($0.count)) }
    }

    private static let methods = ["GET ", "HEAD ", "POST ", "PUT ", "PATCH ", "DELETE ", "OPTIONS "].map {
        Array($0.utf8)
    }

    /// A fatal alert, unrecognized_name (RFC 6066 §3).
    private static let unrecognizedName: [UInt8] = [21, 3, 3, 0, 2, 2, 112]

    /// The description in an alert record that ends what a client has sent: type 21, version, length 2, level and
    /// description.
    static func alert(in bytes: some Collection<UInt8>) -> UInt8? {
        let record = Array(bytes)
        guard record.count == 7, record[0] == 21, record[1] == 3, record[3] == 0, record[4] == 2,
            record[5] == 1 || record[5] == 2
        else { return nil }
        return record[6]
    }
}
