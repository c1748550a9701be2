import ForwardProxy
import Logging
import NIOCore
import Substitution

/// A proxy that serves, with all that `serve` and `run` have around it.
struct RunningProxy {
    let server: ProxyServer
    let accessLog: LogSink
    let messages: ProgramMessages
    let reloader: MapReloader
    let notifier: ServiceNotifier
    private let identity: ListenerIdentity?
    private let shutdownGrace: TimeAmount

    /// Loads the maps, opens the log and starts to serve.
    ///
    /// - Parameter accessLogFallback: where the access log goes if no file is named.
    /// - Throws: ``CommandFailure``; nothing is left running then.
    init(
        _ options: ProxyOptions, _ configuration: ProxyConfiguration, _ logs: LogOptions,
        accessLogFallback: LogSink.Destination, messageLevel: Logger.Level, notifier: ServiceNotifier
    ) throws {
        let map = try MapLoading.load(options.maps)
        let accessLog = try logs.openSink(otherwise: accessLogFallback)
        let messages = try logs.messages(defaultLevel: messageLevel)
        do {
            server = try ProxyServer(
                configuration: configuration, map: map, logSink: accessLog, logger: messages.logger)
        } catch let error as BindError {
            throw CommandFailure(status: .unavailable, message: "\(error)\(BindHint.text(error))")
        } catch {
            throw CommandFailure(
                status: .systemError, message: "the proxy can't be started: \(SystemError.text(of: error))")
        }
        identity = configuration.listenerIdentity
        shutdownGrace = configuration.limits.shutdownGrace
        self.accessLog = accessLog
        self.messages = messages
        self.notifier = notifier
        let server = server
        reloader = MapReloader(
            files: options.maps, server: server, messages: messages, notifier: notifier,
            status: { RunningProxy.status(server, $0) })
        reloader.start()
    }

    /// `listening on http://127.0.0.1:8888 (3 maps, 1204 rules)`
    var status: String { RunningProxy.status(server, server.map) }

    /// The URL by which a program of this machine reaches the proxy.
    var localURL: String {
        server.addresses.first?.localProxyURL() ?? server.secureAddresses.first?.localProxyURL(isSecure: true) ?? ""
    }

    /// Reads the certificate of the https listeners anew.
    ///
    /// - Returns: why it stays as it was; nil where it was read.
    func reloadIdentity() -> String? {
        guard let identity else { return nil }
        do throws(ListenerIdentityError) {
            guard try identity.reload() else { return nil }
            messages.logger.notice("the certificate of the https listeners is loaded anew")
            return nil
        } catch {
            messages.logger.error("the certificate of the https listeners stays as it was: \(error)")
            return "\(error)"
        }
    }

    /// Tells the service manager that the proxy stops, and how long that may take: the exchanges under way, and five
    /// seconds for what comes before and behind.
    func tellStopping() {
        notifier.stopping(within: (shutdownGrace.nanoseconds / 1_000_000_000).addingReportingOverflow(5).partialValue)
    }

    /// Finishes the exchanges under way, and writes what is left of the logs.
    func stop() {
        reloader.stop()
        server.stop()
        messages.flush()
    }

    private static func status(_ server: ProxyServer, _ map: SubstitutionMap) -> String {
        let urls = server.addresses.map { $0.proxyURL() } + server.secureAddresses.map { $0.proxyURL(isSecure: true) }
        return "listening on \(urls.joined(separator: ", ")) (\(map.summary))"
    }
}
