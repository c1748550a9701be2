import Authentication
import Basics
import ForwardProxy
import Logging
import NIOCore
import Substitution

/// A running proxy, with the logs, reloads and messages that `serve` and `run` share.
struct RunningProxy {
    let server: ProxyServer
    let accessLog: LogSink
    let messages: ProgramMessages
    let reloader: MapReloader
    let notifier: ServiceNotifier
    private let identity: ListenerIdentity?
    private let shutdownGrace: TimeAmount
    private let passwords: Passwords?

    /// Loads the maps, opens the log and starts to serve.
    ///
    /// - Parameters:
    ///   - maps: those that `options` names.
    ///   - accessLogFallback: where the access log goes if no file is named.
    /// - Throws: ``CommandFailure``; nothing is left running then.
    init(
        _ options: ProxyOptions, _ configuration: ProxyConfiguration, _ logs: LogOptions, maps: MapSources,
        accessLogFallback: LogSink.Destination, messageLevel: Logger.Level, notifier: ServiceNotifier,
        watchesFiles: Bool = true
    ) throws {
        let began = fileNanoseconds()
        let map = try maps.loadOrFail()
        let accessLog = try logs.openSink(otherwise: accessLogFallback)
        let messages = try logs.messages(defaultLevel: messageLevel)
        var configuration = configuration
        configuration.messageSink = messages.sink
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
        passwords = configuration.passwords
        self.accessLog = accessLog
        self.messages = messages
        self.notifier = notifier
        let server = server
        reloader = MapReloader(
            maps: maps, server: server, messages: messages, notifier: notifier,
            status: { RunningProxy.status(server, $0) })
        if watchesFiles { reloader.start(readSince: began) }
        let logger = messages.logger
        accessLog.whenLinesAreLost {
            logger.warning("the access log can't be written, or not as fast as it comes: lines are dropped")
        }
        if let openness = options.openness(configuration) { messages.logger.warning("\(openness)") }
        warnIfExposed()
    }

    /// `listening on http://127.0.0.1:8888 (3 maps, 1204 rules)`
    var status: String { RunningProxy.status(server, server.map) }

    /// The URL by which a program of this machine reaches the proxy.
    var localURL: String {
        server.addresses.first?.localProxyURL() ?? server.secureAddresses.first?.localProxyURL(isSecure: true) ?? ""
    }

    /// Handles SIGHUP: reloads the maps, the certificate and the passwords, and reopens the access log's file.
    func reload() {
        accessLog.reopen { [logger = messages.logger] error in
            logger.error("the access log can't be opened anew, and goes on in the file that was open: \(error)")
        }
        let certificateFailure = reloadIdentity()
        let passwordFailure = reloadPasswords()
        reloader.request(failure: certificateFailure ?? passwordFailure)
    }

    /// - Returns: why the certificate stays as it was; nil where it was read.
    private func reloadIdentity() -> String? {
        guard let identity else { return nil }
        do throws(ListenerIdentityError) {
            let isNew = try identity.reload()
            server.note(reloadOf: .certificate, succeeded: true)
            if isNew { messages.logger.notice("the certificate of the https listeners is loaded anew") }
            return nil
        } catch {
            server.note(reloadOf: .certificate, succeeded: false)
            messages.logger.error("the certificate of the https listeners stays as it was: \(error)")
            return "\(error)"
        }
    }

    /// Tells the service manager that the proxy stops, and how long that may take: the exchanges under way, and five
    /// seconds for what comes before and behind.
    func tellStopping() {
        notifier.stopping(within: (shutdownGrace.nanoseconds / 1_000_000_000).addingReportingOverflow(5).partialValue)
    }

    /// - Returns: why the passwords stay as they were; nil where they were read.
    private func reloadPasswords() -> String? {
        guard let passwords else { return nil }
        do throws(PasswordListError) {
            let isNew = try passwords.reload()
            server.note(reloadOf: .passwords, succeeded: true)
            if isNew { messages.logger.notice("the passwords are loaded anew (\(counted(passwords.count, "user")))") }
            warnIfExposed()
            return nil
        } catch {
            server.note(reloadOf: .passwords, succeeded: false)
            for line in "\(error)".split(separator: "\n") { messages.logger.error("\(line)") }
            messages.logger.error("the passwords stay as they were")
            return "\(error)".split(separator: "\n").first.map(String.init)
        }
    }

    private func warnIfExposed() {
        guard let passwords, passwords.isExposed else { return }
        messages.logger.warning(
            "every user of this machine can read or write the passwords; chmod o-rw '\(passwords.file)'")
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
