import Dispatch
import ForwardProxy
import Glibc
import Logging
import NIOCore
import Substitution
import TLSTermination
import TrustStores

/// A proxy for as long as nobody ends it, or for the length of a command: what `serve`, `run` and `replay` have in
/// common.
struct ProxyRun {
    var options: ProxyOptions
    let logs: LogOptions
    let limits: LimitOptions
    /// What is said of archives.
    var archives = ArchiveDefaults()
    /// Whether a map has to be named.
    var needsMap = true
    /// Whether maps and archives are read anew when they change; else SIGHUP alone has them read.
    var watchesFiles = true
    /// Whether it is told when a command has ended and no connection ever came to the proxy.
    var tellsUnused = false
    /// Changes to the configuration that the options make.
    var configure: (inout ProxyConfiguration) -> Void = { _ in }
    /// Called when the proxy serves.
    var began: (RunningProxy) throws -> Void = { _ in }
    /// Called when this program is to end before its command does (SIGTERM), which is asked to end then.
    var commandIsEnded: () -> Void = {}
    /// Called when it is asked to end, or its command has ended, before it stops: what it serves goes first.
    var ends: () -> Void = {}
    /// Called when it has stopped, with the status to exit with; gives the one that the program does.
    var ended: (RunningProxy, ExitStatus) -> ExitStatus = { $1 }

    init(_ options: ProxyOptions, _ logs: LogOptions, _ limits: LimitOptions) {
        self.options = options
        self.logs = logs
        self.limits = limits
        archives.limits = limits.archives
    }

    // MARK: Serving

    /// Serves until a signal ends it.
    func serve(in process: ProcessContext) throws -> ExitStatus {
        process.limits.applyForServing()
        let service = try serviceEnvironment()
        var configuration = try options.configuration(
            limits, logs, defaultPort: 8888, passed: service.listeners, needsMap: needsMap)
        configure(&configuration)
        let proxy = try RunningProxy(
            options, configuration, logs, maps: try MapSources(options.maps, process.signals, archives, isServed: true),
            accessLogFallback: .descriptor(StandardStream.output.descriptor), messageLevel: .notice,
            notifier: service.environment.notifier, watchesFiles: watchesFiles)
        StandardStream.error.writeLine("subproxy: \(proxy.status)")
        proxy.notifier.ready(proxy.status)
        if let interval = service.environment.watchdogInterval {
            let notifier = proxy.notifier
            proxy.server.pulse(every: interval) { notifier.alive() }
        }
        proxy.reloader.lookAtFiles()
        do {
            try began(proxy)
        } catch {
            proxy.stop()
            throw error
        }
        serve(proxy, process.signals)
    }

    private func serviceEnvironment() throws -> (environment: ServiceEnvironment, listeners: [PassedListener]) {
        do throws(PassedDescriptorError) {
            let environment = try ServiceEnvironment.take()
            var listeners: [PassedListener] = []
            for descriptor in environment.descriptors { listeners.append(try descriptor.listener()) }
            return (environment, listeners)
        } catch {
            throw CommandFailure(status: .unavailable, message: "\(error)")
        }
    }

    /// Takes signals until one ends the program.
    private func serve(_ proxy: RunningProxy, _ signals: SignalMask) -> Never {
        let ending = Ending(run: self, proxy: proxy)
        var isStopping = false
        while true {
            let number = signals.next().number
            switch number {
            case SIGHUP:
                proxy.reload()
            case SIGTERM where !isStopping, SIGINT where !isStopping:
                isStopping = true
                proxy.tellStopping()
                // Another thread waits for the exchanges, so that this one can take the second signal.
                DispatchQueue.global().async { ending.stop() }
            case SIGTERM, SIGINT, SIGQUIT: _exit(ExitStatus.signal(number).rawValue)
            default: continue
            }
        }
    }

    /// Ends the program on another thread than that which takes signals.
    private final class Ending: @unchecked Sendable {
        // Unchecked: used by one thread, once.
        private let run: ProxyRun
        private let proxy: RunningProxy

        init(run: ProxyRun, proxy: RunningProxy) {
            self.run = run
            self.proxy = proxy
        }

        func stop() -> Never {
            run.ends()
            proxy.stop()
            Glibc.exit(run.ended(proxy, .success).rawValue)
        }
    }

    // MARK: A command

    /// Runs a command with a proxy of its own.
    func run(_ command: [String], in process: ProcessContext) throws -> ExitStatus {
        guard options.passwordFile == nil else {
            throw CommandFailure(
                status: .usage, message: "--auth is for serve; the command of run could not give a password")
        }
        let descriptors = OpenDescriptors.list()
        process.limits.applyForServing()
        var configuration = try options.configuration(limits, logs, defaultPort: 0, needsMap: needsMap)
        if limits.shutdownGrace == nil { configuration.limits.shutdownGrace = LimitOptions.graceOfCommand }
        configure(&configuration)
        let maps = try MapSources(options.maps, process.signals, archives, isServed: true)
        let proxy = try RunningProxy(
            options, configuration, logs, maps: maps, accessLogFallback: .file("/dev/null"), messageLevel: .warning,
            notifier: ServiceNotifier(socket: nil), watchesFiles: watchesFiles)
        var isStopped = false
        defer { if !isStopped { proxy.stop() } }
        proxy.messages.logger.info("\(proxy.status)")
        proxy.reloader.lookAtFiles()
        try began(proxy)
        let trust = trust(proxy, configuration)
        defer { trust?.remove() }
        let child = try SpawnedCommand(
            ProxyRun.arguments(command), environment: environment(proxy, trust), descriptors: descriptors,
            hasInput: !maps.takesStandardInput, in: process)
        let status = wait(for: child, process.signals)
        ends()
        proxy.stop()
        isStopped = true
        if tellsUnused, proxy.server.acceptedConnections == 0 {
            StandardStream.error.writeLine("subproxy: \(ProxyRun.unused)")
        }
        return ended(proxy, status)
    }

    /// Clients that don't read the variables go past the proxy, and nothing else would say so.
    private static let unused = """
        warning: no connection came to the proxy; if the command has asked for anything, its client ignores http_proxy \
        (Node.js before 22.21 and 24 does): tell it by its own options
        """

    /// The command's arguments as the system gave them: their bytes need not be UTF-8.
    private static func arguments(_ command: [String]) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
        CommandLine.unsafeArgv + max(0, Int(CommandLine.argc) - command.count)
    }

    /// Makes the command's clients trust the certificate authority. Nil where no https host is decrypted, and, with a
    /// message, where the authority can't be used.
    private func trust(_ proxy: RunningProxy, _ configuration: ProxyConfiguration) -> CommandTrust? {
        guard
            !InterceptedHosts(proxy.server.map, also: configuration.decrypted, without: configuration.tunnelled)
                .isEmpty
        else { return nil }
        // Why it can't be opened the server has told.
        guard let authority = try? proxy.server.openAuthority() else { return nil }
        do {
            let folder = try AuthorityFolder.path(given: options.authorityFolder)
            return try CommandTrust(AuthorityCertificate(authority, in: folder), in: .ofThisProcess)
        } catch {
            proxy.messages.logger.error("https hosts of the map can't be decrypted: \(error)")
            return nil
        }
    }

    private func environment(_ proxy: RunningProxy, _ trust: CommandTrust?) -> [(name: String, value: String)] {
        let address = proxy.server.addresses.first
        return CommandEnvironment(
            url: proxy.localURL, host: address?.localHost ?? "", port: address?.port ?? 0, trust: trust,
            javaOptions: AuthorityFolder.environmentVariable("JAVA_TOOL_OPTIONS").flatMap { $0.isEmpty ? nil : $0 }
        ).variables
    }

    private func wait(for child: SpawnedCommand, _ signals: SignalMask) -> ExitStatus {
        while true {
            let signal = signals.next()
            switch signal.number {
            case SIGCHLD:
                if let status = child.exitStatus() { return status }
            case SIGTERM:
                commandIsEnded()
                kill(child.process, SIGTERM)
            default:
                // The terminal gives its signals to the command too.
                if signal.isFromProcess { kill(child.process, signal.number) }
            }
        }
    }
}
