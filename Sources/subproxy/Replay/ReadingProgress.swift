import Basics
import Synchronization

/// Tells on a terminal how far an archive has been read, where that takes longer than a second.
final class ReadingProgress: Sendable {
    private let line = ProgressLine()
    private let began = monotonicNanoseconds()
    private let shown = Mutex<UInt64>(0)

    func show(_ name: String, read: Int, of size: Int) {
        guard line.isShown, size > 0 else { return }
        let now = monotonicNanoseconds()
        shown.withLock { shown in
            guard now &- began > 1_000_000_000, now &- shown > 100_000_000 else { return }
            shown = now
            let percent = min(100, Int(Double(read) / Double(size) * 100))
            line.show("subproxy: reading \(visible(name)): \(percent) %")
        }
    }

    /// Takes the line away.
    func end() { line.end() }

    private func visible(_ name: String) -> String {
        String(name.unicodeScalars.map { $0.value < 0x20 ? "?" : Character($0) })
    }
}
