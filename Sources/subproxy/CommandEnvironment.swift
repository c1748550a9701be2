import TLSTermination
import TrustStores

/// The variables by which common clients find a proxy, and trust what it decrypts.
struct CommandEnvironment {
    /// The proxy's URL, with its host and port.
    var url: String
    var host: String
    var port: Int
    /// Nil where nothing is decrypted.
    var trust: CommandTrust?
    /// The value of JAVA_TOOL_OPTIONS that was there, which goes on counting.
    var javaOptions: String?

    var variables: [(name: String, value: String)] {
        // curl takes HTTP_PROXY in lower case alone; other clients take the one or the other.
        ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"].map { ($0, url) }
            + [
                ("no_proxy", ""), ("NO_PROXY", ""), ("NODE_USE_ENV_PROXY", "1"), ("JAVA_TOOL_OPTIONS", java),
            ] + (trust?.variables ?? [])
    }

    /// Java knows no variables for proxies; what comes first counts less than what comes last.
    private var java: String {
        var options = ["http", "https"].flatMap { ["-D\($0).proxyHost=\(host)", "-D\($0).proxyPort=\(port)"] }
        options.append("-Dhttp.nonProxyHosts=")
        options += trust?.javaOptions ?? []
        let quoted = options.map { $0.contains(where: \.isWhitespace) ? "\"\($0)\"" : $0 }
        return ((javaOptions.map { [$0] } ?? []) + quoted).joined(separator: " ")
    }
}
