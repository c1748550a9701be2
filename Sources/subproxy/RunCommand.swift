import ArgumentParser
import ForwardProxy
import Glibc
import Logging
import NIOCore

/// `subproxy run`: a proxy for the length of one command.
struct RunCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command with a proxy of its own.",
        usage: "subproxy run --map <file> [<options of serve>] -- <command> …",
        discussion: """
            The proxy listens on a free port of 127.0.0.1 while the command runs. For the command http_proxy and \
            https_proxy are set, in lower and upper case, NODE_USE_ENV_PROXY=1 for Node.js, and no_proxy is empty, so \
            that requests to this machine go through the proxy too; what a client never sends to a proxy (a browser's \
            localhost, Go's loopback addresses) it still doesn't.

            Exits with the command's status, or 128 and the number of the signal that ended it; 127 if there is no \
            such command, 126 if it can't be run. Ctrl-C is for the command; SIGTERM is passed on to it.

            EXAMPLE:
              subproxy run --map substitutions.yaml -- curl http://images.apple.com/global/nav/images/globalnavbg.png
            """)

    @OptionGroup(title: "Proxy") var options: ProxyOptions
    @OptionGroup(title: "Logs") var logs: LogOptions
    @OptionGroup(title: "Limits") var limits: LimitOptions

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The command and its arguments, behind '--'.", valueName: "command"))
    var command: [String] = []

    func run(in process: ProcessContext) throws -> ExitStatus {
        guard !command.isEmpty else {
            throw ValidationError("no command is given; it follows '--', as in: run --map FILE -- COMMAND")
        }
        let descriptors = OpenDescriptors.list()
        process.limits.applyForServing()
        var configuration = try options.configuration(limits, logs, defaultPort: 0)
        // When the command has ended, nobody waits for what it has left behind.
        if limits.shutdownGrace == nil { configuration.limits.shutdownGrace = .seconds(1) }
        let proxy = try RunningProxy(
            options, configuration, logs, accessLogFallback: .file("/dev/null"), messageLevel: .warning,
            notifier: ServiceNotifier(socket: nil))
        defer { proxy.stop() }
        proxy.messages.logger.info("\(proxy.status)")
        proxy.reloader.lookForMissingFiles()
        let url = proxy.localURL
        let child = try SpawnedCommand(
            arguments(), environment: RunCommand.environment(proxy: url), descriptors: descriptors, in: process)
        return wait(for: child, proxy, process.signals)
    }

    /// The command's arguments as the system gave them: their bytes need not be UTF-8.
    private func arguments() -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
        CommandLine.unsafeArgv + max(0, Int(CommandLine.argc) - command.count)
    }

    /// The variables by which common clients find a proxy.
    private static func environment(proxy url: String) -> [(name: String, value: String)] {
        // curl takes HTTP_PROXY in lower case alone; other clients take the one or the other.
        ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"].map { ($0, url) }
            + [("no_proxy", ""), ("NO_PROXY", ""), ("NODE_USE_ENV_PROXY", "1")]
    }

    private func wait(for child: SpawnedCommand, _ proxy: RunningProxy, _ signals: SignalMask) -> ExitStatus {
        while true {
            let signal = signals.next()
            switch signal.number {
            case SIGCHLD:
                if let status = child.exitStatus() { return status }
            case SIGTERM: kill(child.process, SIGTERM)
            default:
                // The terminal gives its signals to the command too.
                if signal.isFromProcess { kill(child.process, signal.number) }
            }
        }
    }
}
