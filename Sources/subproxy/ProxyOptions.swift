import ArgumentParser
import Authentication
import Files
import ForwardProxy
import HTTPSemantics
import Logging
import NIOCore
import Sessions
import Substitution

/// The options of `serve` and `run` that say what the proxy does.
struct ProxyOptions: ParsableArguments {
    @Option(
        name: .customLong("map"),
        help: ArgumentHelp(
            """
            Substitution map; repeatable, rules of the first file come first. '-' is standard input; it and pipes are \
            read once and not watched.
            """, valueName: "file"),
        completion: .maps)
    var maps: [String] = []

    @Option(
        name: .customLong("listen"),
        help: ArgumentHelp(
            """
            Address to listen on; repeatable. An IPv6 address has brackets, 'localhost' is 127.0.0.1 and ::1, a port \
            alone means 127.0.0.1, and port 0 picks a free port. https:// before the address is for clients that speak \
            TLS with their proxy. (default: 127.0.0.1:8888; with a \
            command, 127.0.0.1:0)
            """, valueName: "address:port"),
        transform: { try ListenAddress($0, hasIPv6: LocalAddress.hasIPv6) })
    var listeners: [ListenAddress] = []

    @Option(
        name: .customLong("tls-cert"),
        help: ArgumentHelp(
            "Certificate (PEM) of https listeners, followed by the intermediate certificates; SIGHUP reads it anew.",
            valueName: "file"),
        completion: .file())
    var certificate: String?

    @Option(
        name: .customLong("tls-key"),
        help: ArgumentHelp("Private key (PEM) of the certificate of --tls-cert.", valueName: "file"),
        completion: .file())
    var certificateKey: String?

    @Flag(help: "Listen beyond loopback, so that other machines can use the proxy.")
    var allowRemote = false

    @Option(
        name: .customLong("auth"),
        help: ArgumentHelp(
            """
            Names and passwords (htpasswd -B); each client has to send one as Proxy-Authorization. SIGHUP reads the \
            file anew. Not with a command.
            """, valueName: "file"),
        completion: .file())
    var passwordFile: String?

    @Flag(help: "Never ask an origin: a request that neither the map nor a stored response answers gets 504.")
    var offline = false

    @Option(
        help: ArgumentHelp(
            """
            How requests with 'Cache-Control: no-cache' are answered, in the place of the maps' defaults: origin, \
            revalidate or never.
            """,
            valueName: "mode"),
        completion: .words(of: RuleOptions.Bypass.self), transform: OptionValue.choice)
    var bypass: RuleOptions.Bypass?

    @Option(
        help: ArgumentHelp(
            "Memory for stored responses; 0 stores none. "
                + "(default: \(OptionValue.sizeText(CacheConfiguration().memory)))", valueName: "size"),
        transform: OptionValue.size(0...1 << 46))
    var cacheMemory: Int?

    @Option(
        help: ArgumentHelp(
            """
            Which responses are stored: shared, private (for one user: also those marked private) or off. \
            (default: shared)
            """,
            valueName: "mode"),
        completion: .words(of: CacheConfiguration.Mode.self), transform: OptionValue.choice)
    var cacheMode: CacheConfiguration.Mode?

    @Option(
        help: ArgumentHelp(
            "Fields that are obeyed instead of Cache-Control (RFC 9213), such as CDN-Cache-Control.",
            valueName: "list"),
        transform: OptionValue.fieldNames)
    var cacheTargets: [[UInt8]]?

    @Option(
        help: ArgumentHelp(
            "For how long after it became stale a stored response is sent if the origin can't be reached; 0 is "
                + "never. (default: \(OptionValue.durationText(CacheConfiguration().staleIfUnreachable)))",
            valueName: "duration"),
        transform: OptionValue.duration(allowsZero: true))
    var staleIfUnreachable: TimeAmount?

    @Option(
        help: ArgumentHelp(
            "Memory for mapped files; as much again for answers of databases and pages of templates, and at most five "
                + "eighths of it for the heads of answers that are ready to be sent. "
                + "(default: \(OptionValue.sizeText(RetentionLimits().memory)))",
            valueName: "size"),
        transform: OptionValue.size(0...1 << 46))
    var retainMemory: Int?

    @Option(
        help: ArgumentHelp(
            "Largest file that is kept in memory, at most 1GiB; larger ones are sent from disk. "
                + "(default: \(OptionValue.sizeText(RetentionLimits().file)))", valueName: "size"),
        transform: OptionValue.size(0...1 << 30))
    var retainFile: Int?

    @OptionGroup var origins: OriginOptions

    @Option(
        name: .customLong("ca-dir"),
        help: ArgumentHelp(
            "Folder of the certificate authority for https hosts of the map. (default: ~/.local/share/subproxy)",
            valueName: "folder"),
        completion: .directory)
    var authorityFolder: String?

    @Option(
        help: ArgumentHelp(
            "Ports that CONNECT and https URLs may name, beside those that the map names. (default: 443,8443; with a command or --page of record, all)",
            valueName: "list"),
        transform: OptionValue.ports)
    var connectPorts: Set<UInt16>?

    @Flag(help: "Let clients on other machines reach loopback, private and this machine's own addresses.")
    var allowPrivateOrigins = false

    @Flag(help: "Let clients on this machine reach the metadata services of clouds (169.254.169.254 and others).")
    var allowMetadata = false

    @OptionGroup var console: ConsoleOptions

    @Option(
        help: ArgumentHelp("Event loops. (default: one a core, at most four)", valueName: "number"),
        transform: OptionValue.count(1...256))
    var threads: Int?

    /// Checks options that depend on one another.
    ///
    /// Done when the whole command line has been read, so that an unknown option or command is named first.
    private func check(_ passed: [PassedListener]) throws {
        let addresses = listeners.flatMap(\.addresses)
        if !allowRemote, let remote = (addresses + passed.map(\.address)).first(where: { !$0.isLoopback }) {
            throw ValidationError(
                """
                \(remote.ipAddress ?? "") can be reached from other machines, which needs --allow-remote; whoever \
                connects can then use this machine to reach others
                """)
        }
        for (index, address) in addresses.enumerated() where address.port != 0 {
            guard !addresses[..<index].contains(address) else {
                throw ValidationError("\(address.hostAndPort) is given twice in --listen")
            }
        }
        for listener in listeners {
            for address in listener.addresses
            where passed.contains(where: { $0.address == address && $0.isSecure != listener.isSecure }) {
                throw ValidationError(
                    "\(address.hostAndPort) is passed as a socket for \(listener.isSecure ? "http" : "https") and "
                        + "given in --listen for the other; FileDescriptorName=https names a socket for https")
            }
        }
        try origins.check()
        try console.check()
        let isSecure = listeners.contains(where: \.isSecure) || passed.contains(where: \.isSecure)
        for (option, value) in [("--tls-cert", certificate), ("--tls-key", certificateKey)] {
            if isSecure, value == nil { throw ValidationError("an https listener needs \(option)") }
            if !isSecure, value != nil {
                throw ValidationError("\(option) is for listeners with TLS, as in --listen https://127.0.0.1:8443")
            }
        }
    }

    private func listenerIdentity() throws(CommandFailure) -> ListenerIdentity? {
        guard let certificate, let certificateKey else { return nil }
        do throws(ListenerIdentityError) {
            return try ListenerIdentity(certificateFile: certificate, keyFile: certificateKey)
        } catch {
            var status = ExitStatus.dataError
            if case .unreadable = error { status = .noInput }
            throw CommandFailure(status: status, message: "\(error)")
        }
    }

    private func passwords() throws(CommandFailure) -> Passwords? {
        guard let passwordFile else { return nil }
        do throws(PasswordListError) {
            return try Passwords(file: passwordFile)
        } catch {
            guard case .unreadable = error else {
                StandardStream.error.writeLine("\(error)")
                throw CommandFailure(
                    status: .dataError, message: "the passwords in '\(passwordFile)' can't be used")
            }
            throw CommandFailure(status: .noInput, message: "\(error)")
        }
    }

    /// A warning if other machines can use the proxy without a password; nil if they can't.
    func openness(_ configuration: ProxyConfiguration) -> String? {
        let addresses =
            configuration.listeners + configuration.secureListeners + configuration.passedListeners.map(\.address)
        guard passwordFile == nil, addresses.contains(where: { !$0.isLoopback && $0.port != nil }) else {
            return nil
        }
        return "everybody who reaches this machine can use the proxy; --auth asks for a name and a password"
    }

    /// The configuration of the proxy.
    ///
    /// - Parameters:
    ///   - defaultPort: the port of 127.0.0.1 to listen on where no address is given and no socket passed.
    ///   - passed: sockets that listen already; an address that one of them is bound to is not bound again.
    func configuration(
        _ limits: LimitOptions, _ logs: LogOptions, defaultPort: Int, passed: [PassedListener] = [],
        needsMap: Bool = true
    ) throws -> ProxyConfiguration {
        guard !maps.isEmpty || !needsMap else { throw ValidationError("no map is named; use --map FILE") }
        try check(passed)
        var configuration = ProxyConfiguration()
        let isFree = { (address: SocketAddress) in !passed.contains { $0.address == address } }
        configuration.listeners = listeners.filter { !$0.isSecure }.flatMap(\.addresses).filter(isFree)
        configuration.secureListeners = listeners.filter(\.isSecure).flatMap(\.addresses).filter(isFree)
        configuration.passedListeners = passed
        configuration.listenerIdentity = try listenerIdentity()
        if listeners.isEmpty, passed.isEmpty {
            configuration.listeners = [try SocketAddress(ipAddress: "127.0.0.1", port: defaultPort)]
        }
        configuration.passwords = try passwords()
        configuration.isOffline = offline
        configuration.bypass = bypass
        if let cacheMemory { configuration.cache.memory = cacheMemory }
        if let cacheMode { configuration.cache.mode = cacheMode }
        if let cacheTargets { configuration.cache.targetedFields = cacheTargets }
        if let staleIfUnreachable { configuration.cache.staleIfUnreachable = staleIfUnreachable }
        if let retainMemory { configuration.retention.memory = retainMemory }
        if let retainFile { configuration.retention.file = retainFile }
        origins.apply(to: &configuration)
        configuration.authorityFolder = authorityFolder
        if let connectPorts { configuration.connectPorts = connectPorts }
        configuration.allowsPrivateForRemote = allowPrivateOrigins
        configuration.allowsMetadata = allowMetadata
        if let threads { configuration.threads = threads }
        configuration.consoleUsers = try console.userNumbers()
        configuration.sessionsFolder = console.sessionsFolder(besideFirstOf: maps)?.path
        configuration.limits = limits.limits
        configuration.version = programVersion
        configuration.logFormat = logs.logFormat ?? .text
        if let level = logs.logLevel { configuration.logsQueryValues = level <= .debug }
        return configuration
    }
}
