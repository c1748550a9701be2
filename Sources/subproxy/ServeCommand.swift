import ArgumentParser
import Dispatch
import ForwardProxy
import Glibc
import Logging

/// `subproxy serve`, and what `subproxy` does without a command.
struct ServeCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve as a forward HTTP proxy.",
        usage: "subproxy [serve] --map <file> [<options>]",
        discussion: """
            When it is ready, one line on standard error says so: 'subproxy: listening on http://127.0.0.1:8888 (3 \
            maps, 1204 rules)'. Sizes and durations have a unit: 64KiB, 16MB, 250ms, 75s, 1h.

            SIGHUP, or a change of a map file, reloads the maps; if they have errors, these are reported, and the old \
            maps stay in force. SIGHUP also reads the certificate of https listeners and the passwords anew. SIGTERM \
            and SIGINT finish the exchanges under way; a second one ends at once.

            If a service manager passes sockets (LISTEN_FDS), the proxy listens on these instead of 127.0.0.1:8888, \
            with TLS if their name is 'https'.
            """)

    @OptionGroup(title: "Proxy") var options: ProxyOptions
    @OptionGroup(title: "Logs") var logs: LogOptions
    @OptionGroup(title: "Limits") var limits: LimitOptions

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.limits.applyForServing()
        let service = try serviceEnvironment()
        let configuration = try options.configuration(limits, logs, defaultPort: 8888, passed: service.listeners)
        let proxy = try RunningProxy(
            options, configuration, logs, maps: MapSources(options.maps, process.signals),
            accessLogFallback: .descriptor(StandardStream.output.descriptor), messageLevel: .notice,
            notifier: service.environment.notifier)
        StandardStream.error.writeLine("subproxy: \(proxy.status)")
        proxy.notifier.ready(proxy.status)
        if let interval = service.environment.watchdogInterval {
            let notifier = proxy.notifier
            proxy.server.pulse(every: interval) { notifier.alive() }
        }
        proxy.reloader.lookAtFiles()
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
                DispatchQueue.global().async {
                    proxy.stop()
                    Glibc.exit(ExitStatus.success.rawValue)
                }
            case SIGTERM, SIGINT, SIGQUIT: _exit(ExitStatus.signal(number).rawValue)
            default: continue
            }
        }
    }
}
