import Glibc
import ProxyTestKit

/// A display that nobody sees (Xvfb(1)), until the object goes.
final class VirtualDisplay {
    /// What DISPLAY is to be.
    let name: String
    private let server: ChildProcess

    static let program = "Xvfb"

    init() throws {
        let server = try ChildProcess(
            [VirtualDisplay.program, "-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp"])
        var number = ""
        try Wait.until {
            if server.status != nil { throw ToolFailure(text: server.error) }
            guard server.output.hasSuffix("\n") else { return false }
            number = String(server.output.dropLast())
            return true
        }
        name = ":\(number)"
        self.server = server
    }

    // It takes its socket and its lock away by itself.
    deinit {
        server.send(SIGTERM)
        _ = try? server.finish()
    }
}
