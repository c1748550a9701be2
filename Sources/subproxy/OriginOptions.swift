import ArgumentParser
import ForwardProxy

/// The options of the way to origins.
struct OriginOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Parent proxy: http://, socks5:// or socks5h:// with host and port. The environment's http_proxy is not \
            obeyed.
            """, valueName: "url"),
        transform: OptionValue.parentProxy)
    var upstreamProxy: String?

    @Option(help: ArgumentHelp("Hosts that are reached without the parent proxy: a,b or * for all.", valueName: "list"))
    var noProxy: String?

    @Option(
        help: ArgumentHelp(
            "The address to use for an origin, instead of looking its name up; repeatable.",
            valueName: "host:port:address"),
        transform: OptionValue.resolveEntry)
    var resolve: [String] = []

    @Option(
        name: .customLong("origin-ca"),
        help: ArgumentHelp("Certificates (PEM) to trust for origins, instead of the system's.", valueName: "file"),
        completion: .file())
    var originCA: String?

    /// Checks what can't be used.
    ///
    /// Done when the whole command line has been read, so that an unknown option or command is named first.
    func check() throws {
        if let originCA, let reason = LocalFile.unreadableReason(originCA) {
            throw CommandFailure(
                status: .noInput, message: "the file '\(originCA)' of --origin-ca can't be read: \(reason)")
        }
        // Else each request to an https origin would fail.
        if let originCA {
            do throws(ListenerIdentityError) {
                try ListenerIdentity.checkCertificates(in: originCA)
            } catch {
                throw CommandFailure(status: .dataError, message: "\(error)")
            }
        }
        if noProxy != nil, upstreamProxy == nil {
            throw ValidationError("--no-proxy names exceptions to --upstream-proxy, which is not given")
        }
    }

    func apply(to configuration: inout ProxyConfiguration) {
        configuration.upstreamProxy = upstreamProxy
        if let noProxy { configuration.noProxy = OptionValue.noProxy(noProxy) }
        configuration.resolve = resolve
        configuration.originCAFile = originCA
    }
}
