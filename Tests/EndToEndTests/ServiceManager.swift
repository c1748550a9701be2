import Glibc
import ProxyTestKit

/// What systemd does for the program, as far as the program can tell: a notify socket, and listening sockets that it
/// passes and that outlive each process.
final class ServiceManager {
    let folder: TemporaryFolder
    let notifications: NotifySocket
    let sockets: [Socket]
    let port: UInt16
    var mapPath: String { "\(folder.path)/m.yaml" }
    private let notifyName: String

    /// - Parameter sockets: what is passed, instead of one socket on a free port of 127.0.0.1.
    init(
        _ rules: String = "http://mapped.test/x: { text: x }", files: [String: String] = [:], sockets: [Socket]? = nil
    ) throws {
        folder = TemporaryFolder()
        for (name, text) in files { try folder.write(name, text) }
        try folder.write("m.yaml", ServedMap.text(rules))
        notifyName = "\(folder.path)/notify"
        notifications = try NotifySocket(notifyName)
        if let sockets {
            self.sockets = sockets
            port = 0
        } else {
            let (listener, port) = try Socket.listen(backlog: 4096)
            self.sockets = [listener]
            self.port = port
        }
    }

    /// Starts the program with the sockets passed.
    ///
    /// - Parameters:
    ///   - names: of the sockets, as FileDescriptorName= gives them.
    ///   - owner: what stands for the process's own identifier in `LISTEN_PID`.
    func start(
        _ options: [String] = [], names: String = "http", owner: String = "$$", environment: [String: String] = [:]
    ) throws -> ChildProcess {
        var variables = ["NOTIFY_SOCKET": notifyName, "LISTEN_FDS": "\(sockets.count)", "LISTEN_FDNAMES": names]
        for (name, value) in environment { variables[name] = value }
        return try ChildProcess(
            [
                "sh", "-c", "export LISTEN_PID=\(owner); exec \"$@\"", "sh", RunningBinary.path, "--map", mapPath,
            ] + options, environment: variables, descriptors: sockets.map(\.descriptor))
    }

    /// The next message, which has to say that the program is ready; its STATUS.
    func readyStatus() throws -> String {
        guard let message = notifications.next(), message.hasPrefix("READY=1\nSTATUS=") else { throw NotReady() }
        return String(message.dropFirst("READY=1\nSTATUS=".count))
    }

    /// The program did not say that it is ready.
    struct NotReady: Error {}
}
