import ArgumentParser
import ForwardProxy
import Glibc
import Logging
import NIOCore
import Substitution
import TLSTermination
import TrustStores

/// `subproxy run`: a proxy for the length of one command.
struct RunCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command with a proxy of its own.",
        usage: "subproxy run --map <file> [<options of serve>] -- <command> …",
        discussion: """
            The proxy listens on a free port of 127.0.0.1 while the command runs. For the command http_proxy and \
            https_proxy are set, in lower and upper case, NODE_USE_ENV_PROXY=1 for Node.js and JAVA_TOOL_OPTIONS for \
            Java. no_proxy is empty, so that requests to this machine go through the proxy too. Some requests clients \
            never send to a proxy: a browser those to localhost, Go those to loopback addresses.

            If the map names https hosts, SSL_CERT_FILE, CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE, NODE_EXTRA_CA_CERTS \
            and the like are set too, so that the command trusts the proxy's certificate authority beside those that \
            it trusts already. Nothing is installed for that.

            With '--map -' the map is read from standard input, and the command's standard input is empty.

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
        help: ArgumentHelp("The command and its arguments, behind '--'.", valueName: "command"), completion: .file())
    var command: [String] = []

    func run(in process: ProcessContext) throws -> ExitStatus {
        guard !command.isEmpty else {
            throw ValidationError("no command is given; it follows '--', as in: run --map FILE -- COMMAND")
        }
        guard options.passwordFile == nil else {
            throw ValidationError("--auth is for serve; the command of run could not give a password")
        }
        let descriptors = OpenDescriptors.list()
        process.limits.applyForServing()
        var configuration = try options.configuration(limits, logs, defaultPort: 0)
        // When the command has ended, nobody waits for what it has left behind.
        if limits.shutdownGrace == nil { configuration.limits.shutdownGrace = .seconds(1) }
        let maps = MapSources(options.maps, process.signals)
        let proxy = try RunningProxy(
            options, configuration, logs, maps: maps, accessLogFallback: .file("/dev/null"), messageLevel: .warning,
            notifier: ServiceNotifier(socket: nil))
        defer { proxy.stop() }
        proxy.messages.logger.info("\(proxy.status)")
        proxy.reloader.lookAtFiles()
        let trust = trust(proxy)
        defer { trust?.remove() }
        let child = try SpawnedCommand(
            arguments(), environment: environment(proxy, trust), descriptors: descriptors,
            hasInput: !maps.takesStandardInput, in: process)
        return wait(for: child, proxy, process.signals)
    }

    /// The command's arguments as the system gave them: their bytes need not be UTF-8.
    private func arguments() -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
        CommandLine.unsafeArgv + max(0, Int(CommandLine.argc) - command.count)
    }

    /// Makes the command's clients trust the certificate authority. Nil where the map names no https host, and, with a
    /// message, where the authority can't be used.
    private func trust(_ proxy: RunningProxy) -> CommandTrust? {
        guard !InterceptedHosts(proxy.server.map).isEmpty else { return nil }
        do {
            let folder = try AuthorityFolder.path(given: options.authorityFolder)
            let certificate = AuthorityCertificate(try CertificateAuthority.open(in: folder), in: folder)
            return try CommandTrust(certificate, in: .ofThisProcess)
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
