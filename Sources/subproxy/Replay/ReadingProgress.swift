import Basics
import Glibc
import Synchronization

/// Tells on a terminal how far an archive has been read, where that takes longer than a second.
final class ReadingProgress: Sendable {
    private struct State {
        var began: UInt64
        var shown: UInt64 = 0
        var hasLine = false
    }

    private let state: Mutex<State>
    private let isTerminal = isatty(StandardStream.error.descriptor) == 1

    init() { state = Mutex(State(began: monotonicNanoseconds())) }

    func show(_ name: String, read: Int, of size: Int) {
        guard isTerminal, size > 0 else { return }
        let now = monotonicNanoseconds()
        state.withLock { state in
            guard now &- state.began > 1_000_000_000, now &- state.shown > 100_000_000 else { return }
            state.shown = now
            state.hasLine = true
            let percent = min(100, Int(Double(read) / Double(size) * 100))
            StandardStream.error.writeText("\r\u{1B}[Ksubproxy: reading \(visible(name)): \(percent) %")
        }
    }

    /// Takes the line away.
    func end() {
        state.withLock { state in
            guard state.hasLine else { return }
            state.hasLine = false
            StandardStream.error.writeText("\r\u{1B}[K")
        }
    }

    private func visible(_ name: String) -> String {
        String(name.unicodeScalars.map { $0.value < 0x20 ? "?" : Character($0) })
    }
}
