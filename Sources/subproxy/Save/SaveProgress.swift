import Basics
import Diagnostics
import Glibc
import Synchronization

/// Tells on a terminal what is being done, where that takes longer than a second.
final class SaveProgress: Sendable {
    private struct State {
        let began = monotonicNanoseconds()
        var hasLine = false
    }

    private let state = Mutex(State())
    private let isTerminal: Bool
    private let prefix: String

    /// - Parameter prefix: what stands before each line, such as `3 of 20: `; nil where nothing is told.
    init(_ prefix: String?) {
        isTerminal = prefix != nil && isatty(StandardStream.error.descriptor) == 1
        self.prefix = prefix ?? ""
    }

    func show(_ text: String) {
        guard isTerminal else { return }
        state.withLock { state in
            state.hasLine = true
            let line = visibleText(of: "subproxy: \(prefix)\(text)".utf8, limit: SaveProgress.width)
            StandardStream.error.writeText("\r\u{1B}[K\(line) …")
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

    /// What fits into a line: a longer one would not be taken away whole.
    private static var width: Int {
        var size = winsize()
        guard ioctl(StandardStream.error.descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 20 else { return 76 }
        return Int(size.ws_col) - 4
    }
}
