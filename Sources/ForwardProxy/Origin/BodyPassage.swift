import NIOCore

/// A response's body on its way from an origin to one client, under the client's back-pressure.
///
/// Once a large body flows and the client keeps up, the transfer thread sends it by itself, see ``OutputLoan``. Bound
/// to the event loop.
final class BodyPassage {
    /// A body, or what is left of one, has to be as long as this for the socket to be lent: that costs a descriptor.
    static let leastLent = 256 << 10

    /// Bytes of the body that were given to the client, but not acknowledged to the origin's side.
    private var unacknowledged = 0
    /// Bytes that have come over the event loop.
    private var passed = 0
    /// Bytes that are still to come; 0 where the length is not known.
    private var left = 0
    private var loan: OutputLoan?
    private var isLendable = true

    func begin(_ response: ResponseStart) {
        if case .length(let length) = response.body { left = length }
    }

    func pass(_ body: ByteBuffer, to client: any BodyReceiver, from transfer: (any OriginTransport)?) {
        takeBack(client)
        client.send(body)
        let count = body.readableBytes
        passed &+= count
        left &-= count
        unacknowledged &+= count
        if left >= BodyPassage.leastLent, isLendable, client.takesBodyAsItIs, let transfer,
            transfer.unacknowledgedBytes != nil
        {
            // May find that the client has gone, or is writable again.
            client.flush()
            if isLendable, client.hasSentAll, !lend(client, to: transfer) { return }
        }
        if client.isWritable { acknowledge(to: transfer) }
    }

    func acknowledge(to transfer: (any OriginTransport)?) {
        guard unacknowledged > 0 else { return }
        transfer?.acknowledge(unacknowledged)
        unacknowledged = 0
    }

    /// Nothing more is passed on; the client may be written to, or is gone.
    func end(_ client: (any BodyReceiver)?) {
        takeBack(client)
        loan?.close()
        loan = nil
        isLendable = false
    }

    /// Lends the client's socket, behind all that has come.
    ///
    /// - Returns: false while more is on its way here: the origin is told to go on when that has been written too, so
    ///   that there is an end of it.
    private func lend(_ client: any BodyReceiver, to transfer: any OriginTransport) -> Bool {
        guard transfer.unacknowledgedBytes == unacknowledged else { return false }
        if loan == nil {
            loan = client.duplicateSocket().map { OutputLoan($0) }
            isLendable = loan != nil
        }
        if let loan { transfer.lend(loan, at: passed) }
        return true
    }

    private func takeBack(_ client: (any BodyReceiver)?) {
        guard let loan else { return }
        let sent = loan.takeBack()
        left &-= sent
        client?.noteSent(sent)
    }
}
