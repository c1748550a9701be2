/// One transfer of a ``TransferLoop``.
public final class Transfer: @unchecked Sendable {
    // Unchecked: `delegate` and `handle` are touched by the starter before the transfer is queued, and from then on by
    // the transfer thread only; the queue's lock is between the two.

    public let request: TransferRequest
    private let commands: CommandQueue
    var delegate: (any TransferDelegate)?
    var handle: EasyHandle?

    init(_ request: TransferRequest, _ delegate: any TransferDelegate, _ commands: CommandQueue) {
        self.request = request
        self.delegate = delegate
        self.commands = commands
    }

    /// Continues receiving (curl_easy_pause); does nothing if it is not paused.
    public func resumeReceiving() { commands.add(.resumeReceiving(self)) }

    /// Asks the delegate for the request's body again; does nothing if sending is not paused.
    public func resumeSending() { commands.add(.resumeSending(self)) }

    /// Ends the transfer at once and closes its connection; the delegate is told on the transfer thread.
    public func cancel() { commands.add(.cancel(self)) }

    /// Tells the delegate the end, once.
    func finish(_ result: TransferResult) {
        handle = nil
        guard let delegate else { return }
        self.delegate = nil
        delegate.transferDidFinish(self, result)
    }
}
