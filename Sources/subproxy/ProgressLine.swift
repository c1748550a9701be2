import Basics
import Glibc
import Synchronization

/// A line on standard error that tells what is being done, and is taken away again: on a terminal that can take lines
/// away, which a `dumb` one can't (terminfo(5)).
final class ProgressLine: Sendable {
    /// Whether there is such a terminal, and something is to be told.
    let isShown: Bool
    private let hasText = Mutex(false)

    init(isWanted: Bool = true) {
        let kind = getenv("TERM").map { String(cString: $0) } ?? ""
        isShown = isWanted && !["", "dumb"].contains(kind) && isatty(StandardStream.error.descriptor) == 1
    }

    /// Shows a text without escapes in the place of the last one. What is wider than the terminal is not taken away
    /// whole.
    func show(_ text: String) {
        guard isShown else { return }
        hasText.withLock { hasText in
            hasText = true
            StandardStream.error.writeText("\r\u{1B}[K\(text)")
        }
    }

    /// Takes the line away.
    func end() {
        hasText.withLock { hasText in
            guard hasText else { return }
            hasText = false
            StandardStream.error.writeText("\r\u{1B}[K")
        }
    }
}
