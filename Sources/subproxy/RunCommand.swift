import ArgumentParser

/// `subproxy run`: a proxy for the length of one command.
struct RunCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command with a proxy of its own.",
        usage: "subproxy run --map <file> [<options of serve>] -- <command> …",
        discussion: """
            The proxy listens on a free port of 127.0.0.1 while the command runs. For the command http_proxy and \
            https_proxy are set, in lower and upper case, NODE_USE_ENV_PROXY=1 for Node.js (22.21, and from 24 on) and \
            JAVA_TOOL_OPTIONS for Java. no_proxy is empty, so that requests to this machine go through the proxy too. Some requests clients \
            never send to a proxy: a browser those to localhost, Go those to loopback addresses. A client that ignores \
            http_proxy goes past the proxy.

            If the map names https hosts, SSL_CERT_FILE, CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE, NODE_EXTRA_CA_CERTS \
            and the like are set too, so that the command trusts the proxy's certificate authority beside those that \
            it trusts already. Nothing is installed for that.

            With '--map -' the map is read from standard input, and the command's standard input is empty.

            Exits with the command's status, or 128 and the number of the signal that ended it; 127 if there is no \
            such command, 126 if it can't be run. Ctrl-C is for the command; SIGTERM is passed on to it.

            EXAMPLE:
              subproxy run --map substitutions.yaml -- curl http://www.example.com/
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
        guard options.passwordFile == nil else {
            throw ValidationError("--auth is for serve; the command of run could not give a password")
        }
        return try ProxyRun(options, logs, limits).run(command, in: process)
    }
}
