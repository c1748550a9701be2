import ArgumentParser

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
        try ProxyRun(options, logs, limits).serve(in: process)
    }
}
