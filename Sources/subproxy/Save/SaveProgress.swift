import Basics
import Diagnostics
import Glibc

/// Tells on a terminal what is being done: saving takes seconds.
final class SaveProgress: Sendable {
    private let line: ProgressLine
    private let prefix: String

    /// - Parameter prefix: what stands before each line, such as `3 of 20: `; nil where nothing is told.
    init(_ prefix: String?) {
        line = ProgressLine(isWanted: prefix != nil)
        self.prefix = prefix ?? ""
    }

    func show(_ text: String) {
        guard line.isShown else { return }
        line.show(visibleText(of: "subproxy: \(prefix)\(text)".utf8, limit: SaveProgress.width) + " …")
    }

    /// Takes the line away.
    func end() { line.end() }

    /// What fits into a line: a longer one would not be taken away whole.
    private static var width: Int {
        var size = winsize()
        guard ioctl(StandardStream.error.descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 20 else { return 76 }
        return Int(size.ws_col) - 4
    }
}
