import Basics
import Dispatch
import Files
import Glibc
public import Logging
import NIOConcurrencyHelpers
public import NIOCore
import NIOPosix
public import Substitution
import Synchronization
public import TLSTermination

/// A running forward proxy: listeners, event loops, the transfer thread, and the map in force.
public final class ProxyServer: Sendable {
    private struct State {
        var map: SubstitutionMap
        var isStopping = false
    }

    /// The addresses that the proxy listens on, ports resolved.
    public let addresses: [SocketAddress]
    /// Those that it listens on with TLS.
    public let secureAddresses: [SocketAddress]

    let core: ProxyCore
    private let group: MultiThreadedEventLoopGroup
    private let listeners: [Listener]
    private let contexts: [LoopContext]
    private let state: NIOLockedValueBox<State>

    /// Binds the listeners and starts to serve.
    ///
    /// - Parameters:
    ///   - configuration: what the command line says.
    ///   - map: the map in force until ``adopt(_:)``.
    ///   - logSink: where the access log goes.
    ///   - logger: the program's own messages.
    /// - Throws: ``BindError`` where an address can't be listened on, `TransferLoopError` where there is no thread for
    ///   transfers; nothing is left running then.
    public init(
        configuration: ProxyConfiguration, map: SubstitutionMap, logSink: LogSink, logger: Logger
    ) throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: max(1, configuration.threads))
        var plain: [Listener] = []
        var secure: [Listener] = []
        let transports: TransferLoops
        let registry = ContextRegistry()
        let warnings = AcceptWarnings(logger: logger)
        let setting = Listener.Setting(group: group, warnings: warnings, accept: { try registry.accept($0) })
        do {
            for source in configuration.sources(isSecure: false) { plain.append(try Listener(source, setting)) }
            if let identity = configuration.listenerIdentity {
                let setting = Listener.Setting(
                    group: group, warnings: warnings, accept: { try registry.accept($0, identity) })
                for source in configuration.sources(isSecure: true) { secure.append(try Listener(source, setting)) }
            }
            // The last that may fail: from here on there is more to end than is ended below.
            transports = try TransferLoops(configuration)
        } catch {
            for listener in plain + secure { listener.close() }
            try? group.syncShutdownGracefully()
            throw error
        }
        let listeners = plain + secure
        addresses = plain.map(\.address)
        secureAddresses = secure.map(\.address)
        var policy = AddressPolicy(
            allowsPrivateForRemote: configuration.allowsPrivateForRemote,
            allowsPrivateForLocal: configuration.allowsPrivateForLocal, allowsMetadata: configuration.allowsMetadata)
        var names = OwnNames()
        for address in addresses + secureAddresses {
            policy.addListener(address)
            names.add(listener: address)
        }
        let filePool = NIOThreadPool(numberOfThreads: ProxyCore.fileThreads)
        filePool.start()
        let evictions = EvictionRelay()
        let files = RetainedFiles(
            limits: configuration.retention, now: { wallNanoseconds() }, onEvict: { evictions.tell($0) })
        core = ProxyCore(
            configuration: configuration, addressPolicy: policy, logSink: logSink, logger: logger, files: files,
            filePool: filePool, identity: ProxyIdentity(), ownNames: names,
            transports: transports)
        self.group = group
        self.listeners = listeners
        let core = core
        let tunnels = TunnelPolicy(map, configuration)
        contexts = group.makeIterator().map { LoopContext(eventLoop: $0, proxy: core, map: map, tunnelPolicy: tunnels) }
        state = NIOLockedValueBox(State(map: map))
        let contexts = contexts
        evictions.fill(contexts)
        core.roster.fill(contexts)
        core.cache?.drop(in: contexts)
        if !tunnels.intercepted.isEmpty { filePool.submit { _ in core.secureTunnels.openExisting() } }
        // Connections that came before this moment wait in the listeners' queues.
        registry.fill(contexts)
        for listener in listeners { listener.start() }
    }

    /// The map in force.
    public var map: SubstitutionMap { state.withLockedValue(\.map) }

    /// The hosts whose tunnels a map, or an option, has decrypted; also those that another option takes out again.
    public func intercepted(by map: SubstitutionMap) -> InterceptedHosts {
        InterceptedHosts(map, also: core.configuration.decrypted)
    }

    /// How many connections of clients have come so far, those that were refused among them.
    public var acceptedConnections: Int { core.counters.accepted.load(ordering: .relaxed) }

    /// Opens the certificate authority, and makes it where there is none; blocks.
    ///
    /// - Throws: what clients are told where it can't be opened, which is logged already.
    public func openAuthority() throws -> CertificateAuthority { try core.secureTunnels.open().certificateAuthority }

    /// Puts another map in force for all requests that come after it returns; exchanges under way keep theirs.
    ///
    /// Waits for the event loops, so it must not be called on one of them.
    public func adopt(_ map: SubstitutionMap) {
        state.withLockedValue { $0.map = map }
        let policy = TunnelPolicy(map, core.configuration)
        core.databases.adopt(map)
        onEachLoop { $0.adopt(map, tunnelPolicy: policy) }
        core.databases.closeLeaving()
        core.keepFolders(of: map)
        core.templates.keep(of: map)
        core.turns.keep(only: map.answerIdentities)
        core.sequences.reset()
        let named = NamedFiles(map)
        core.files.drop { !named.contains($0) }
    }

    /// Performs `body` on every event loop, and waits for that; not to be called on one of them.
    func onEachLoop(_ body: @escaping @Sendable (LoopContext) -> Void) {
        let performed = contexts.map { context in context.eventLoop.submit { body(context) } }
        for future in performed { try? future.wait() }
    }

    /// Calls `body` at intervals, on one of the threads that serve, for as long as all of them take their turns: while
    /// one is stuck, it is not called.
    public func pulse(every interval: TimeAmount, _ body: @escaping @Sendable () -> Void) {
        LoopPulse(contexts, core.transports, body).start(every: interval)
    }

    /// Stops accepting, closes idle connections, waits for the exchanges under way at most
    /// ``ProxyLimits/shutdownGrace``, cuts what is left, and ends all threads.
    public func stop() {
        let isFirst = state.withLockedValue { state in
            defer { state.isStopping = true }
            return !state.isStopping
        }
        guard isFirst else { return }
        settleAccepted()
        for listener in listeners { listener.close() }
        let drained = DispatchGroup()
        for context in contexts {
            drained.enter()
            context.eventLoop.execute { context.stop { drained.leave() } }
        }
        let grace = Double(core.configuration.limits.shutdownGrace.nanoseconds) / 1e9
        if drained.wait(timeout: .now() + grace) == .timedOut {
            for context in contexts { context.eventLoop.execute { context.cut() } }
            _ = drained.wait(timeout: .now() + 1)
        }
        core.transports.shutdown()
        core.databases.close()
        core.access?.shutdown()
        core.cache?.drop(in: [])
        core.roster.fill([])
        for context in contexts { try? context.eventLoop.submit { context.log.flush() }.wait() }
        // What it does ends with a task for an event loop.
        try? core.filePool.syncShutdownGracefully()
        // Ends what would not end, whose lines go to the log still.
        try? group.syncShutdownGracefully()
        core.logSink.close()
    }

    /// Stops accepting, and waits until each connection that has been accepted is in its loop's hands: NIO drops those
    /// that are on their way there when the listener closes.
    private func settleAccepted() {
        for listener in listeners { listener.pause() }
        // To the connection's loop, back to the listener's, and to the connection's again.
        for _ in 0..<3 {
            for context in contexts { try? context.eventLoop.submit {}.wait() }
        }
    }

    /// Counts a reload for the metrics.
    public func note(reloadOf subject: ReloadSubject, succeeded: Bool) {
        core.counters.count(reloadOf: subject, succeeded: succeeded)
    }
}

extension ProxyConfiguration {
    fileprivate func sources(isSecure: Bool) -> [Listener.Source] {
        (isSecure ? secureListeners : listeners).map { .address($0) }
            + passedListeners.filter { $0.isSecure == isSecure }.map { .passed($0) }
    }
}

/// The files below the roots of a map's rules, and the bodies of its archives. What is not among them is let go of.
private struct NamedFiles {
    private let roots: Set<ByBytes<String>>
    /// By their paths, as ``EntryLoader/archive(of:)`` names them.
    private var archives: [ByBytes<String>: Set<[UInt8]>] = [:]

    init(_ map: SubstitutionMap) {
        roots = Set(map.roots.map { ByBytes($0) })
        for archive in map.archives {
            archives[ByBytes(archive.path), default: []].insert(Array("\(archive.generation)".utf8))
        }
    }

    func contains(_ key: FileKey) -> Bool {
        let root = ByBytes(key.root)
        return roots.contains(root) || archives[root]?.contains(EntryLoader.archive(of: key.path)) == true
    }
}

/// Tells every event loop of a file whose bytes the store has given up.
private final class EvictionRelay: Sendable {
    private let contexts = NIOLockedValueBox<[LoopContext]>([])

    func fill(_ all: [LoopContext]) { contexts.withLockedValue { $0 = all } }

    func tell(_ key: FileKey) {
        for context in contexts.withLockedValue({ $0 }) {
            context.eventLoop.execute { context.answers.remove(file: key) }
        }
    }
}

/// The event loops' contexts, which are made after the listeners are bound and before they accept.
private final class ContextRegistry: Sendable {
    private let contexts = NIOLockedValueBox<[ObjectIdentifier: LoopContext]>([:])

    func fill(_ all: [LoopContext]) {
        contexts.withLockedValue { contexts in
            for context in all { contexts[ObjectIdentifier(context.eventLoop)] = context }
        }
    }

    /// - Parameter identity: what the listener is known by in TLS; nil for one in the clear.
    func accept(_ channel: any Channel, _ identity: ListenerIdentity? = nil) throws {
        let context = contexts.withLockedValue { $0[ObjectIdentifier(channel.eventLoop)] }
        guard let context, context.proxy.admitConnection(channel), context.proxy.admitUser(of: channel) else {
            throw ChannelError.ioOnClosedChannel
        }
        let remote = channel.remoteAddress
        let isUnix = channel.localAddress?.protocol == .unix
        let connection = ClientConnection(
            loop: context, address: remote?.ipAddress ?? (isUnix ? "unix" : "-"),
            isLocal: isUnix
                || remote.map { AddressBytes.isThisMachine($0, connectedTo: channel.localAddress) } ?? false,
            isEncrypted: identity != nil)
        if let identity {
            try identity.secure(connection, on: channel)
        } else {
            try channel.pipeline.syncOperations.addHandler(connection)
        }
    }
}

extension ProxyCore {
    /// Whether a connection is this process's own user's, or root's, where others are not served.
    fileprivate func admitUser(of channel: any Channel) -> Bool {
        guard configuration.admitsOwnUserAlone else { return true }
        guard let remote = channel.remoteAddress, let local = channel.localAddress else { return false }
        let owner = SocketTable.owner(of: ClientOwner.Pair(remote: remote, local: local))
        if owner == .user(geteuid()) || owner == .user(0) { return true }
        if counters.countStranger() {
            logger.warning(
                "a connection of another user of this machine was closed: this proxy is for its own user, unless --listen names an address"
            )
        }
        return false
    }

    /// Counts a connection in, and out again when it closes; refuses it beyond the limit.
    fileprivate func admitConnection(_ channel: any Channel) -> Bool {
        let count = counters.connections.add(1, ordering: .relaxed).newValue
        counters.accepted.add(1, ordering: .relaxed)
        channel.closeFuture.whenComplete { [counters] _ in counters.connections.subtract(1, ordering: .relaxed) }
        guard count > configuration.limits.connections else { return true }
        if counters.countRefusedConnection() {
            logger.warning("\(configuration.limits.connections) connections are open: more are closed at once")
        }
        return false
    }
}
