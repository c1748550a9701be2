import CCurl

/// A transfer thread before its first transfer: it waits, and has not opened libcurl yet.
///
/// Made by the starter, and from then on touched by the thread only.
final class TransferThreadStart {
    private let configuration: TransferLoopConfiguration
    private let commands: CommandQueue
    private let poll: SocketPoll
    private let turnEnded: @Sendable () -> Void

    init?(
        _ configuration: TransferLoopConfiguration, _ commands: CommandQueue, turnEnded: @escaping @Sendable () -> Void
    ) {
        guard let poll = SocketPoll(wakeup: commands.descriptor) else { return nil }
        self.configuration = configuration
        self.commands = commands
        self.poll = poll
        self.turnEnded = turnEnded
    }

    /// Runs until the stop command; with the first transfer the thread goes on as ``TransferThread``.
    ///
    /// If libcurl can't be opened, every transfer fails with the reason as soon as it starts.
    func run() {
        // Commands that are handed on must not be held here: a transfer is released when it ends.
        var first: [Command] = []
        guard let thread = awaitTransfer(&first) else { return }
        thread.run(&first)
    }

    /// - Parameter first: becomes the commands to begin with, the first transfer's start before all others.
    /// - Returns: nil where the stop command came first.
    private func awaitTransfer(_ first: inout [Command]) -> TransferThread? {
        while true {
            let batch = nextCommands()
            var refusal: TransferResult?
            for (index, command) in batch.enumerated() {
                switch command {
                case .start(let transfer):
                    if refusal == nil {
                        switch makeThread() {
                        case .success(let thread):
                            first = Array(batch[index...])
                            return thread
                        case .failure(let reason):
                            var result = TransferResult(code: reason.code, message: reason.message)
                            result.noteShortage()
                            refusal = result
                        }
                    }
                    if let refusal { transfer.finish(refusal) }
                case .call(let body): body()
                case .resumeReceiving, .resumeSending, .cancel, .close: continue
                case .stop:
                    for case .start(let transfer) in batch[index...] + commands.close() { transfer.finish(.cancelled) }
                    turnEnded()
                    return nil
                }
            }
            turnEnded()
        }
    }

    private func nextCommands() -> [Command] {
        var next: [Command] = []
        while next.isEmpty {
            if commands.mayWait() {
                poll.wait(-1) {
                } idle: { _ in
                } _: { _, _ in
                }
            }
            commands.take(&next)
        }
        return next
    }

    private struct Refusal: Error {
        var code: CURLcode
        var message: String
    }

    private func makeThread() -> Result<TransferThread, Refusal> {
        if let problem = Library.problem { return .failure(Refusal(code: CURLE_FAILED_INIT, message: problem)) }
        guard let thread = TransferThread(configuration, commands, poll, turnEnded: turnEnded) else {
            return .failure(Refusal(code: CURLE_OUT_OF_MEMORY, message: "no memory for transfers"))
        }
        return .success(thread)
    }
}
