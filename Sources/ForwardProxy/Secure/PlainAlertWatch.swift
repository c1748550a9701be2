import NIOCore

/// Notices an alert that a client sends in the clear while TLS is agreed on.
///
/// Clients with OpenSSL tell so, in TLS 1.3 too, that they don't trust a certificate; the TLS library, which by then
/// expects encrypted records, can only say that the record is too short.
final class PlainAlertWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The alert's description (RFC 8446 §6).
    private(set) var alert: UInt8?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data).readableBytesView.suffix(7)
        if let found = PlainAlertWatch.alert(in: bytes) { alert = found }
        context.fireChannelRead(data)
    }

    /// The alert in the last record of what a client has sent: type 21, a version, the length 2, level and description.
    static func alert(in bytes: some Collection<UInt8>) -> UInt8? {
        let record = Array(bytes)
        guard record.count == 7, record[0] == 21, record[1] == 3, record[3] == 0, record[4] == 2,
            record[5] == 1 || record[5] == 2
        else { return nil }
        return record[6]
    }
}
