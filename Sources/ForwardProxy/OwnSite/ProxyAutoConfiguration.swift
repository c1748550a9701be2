import NIOCore
import Substitution

/// A proxy auto-configuration file that sends only the hosts of the map to the proxy.
enum ProxyAutoConfiguration {
    /// With more hosts everything goes to the proxy: archives can have hosts by the thousands.
    private static let mostHosts = 1000

    static func page(for map: SubstitutionMap, _ request: OwnRequest) -> OwnPage {
        let script = script(for: map, proxy: request.authority, isEncrypted: request.isEncrypted)
        return OwnPage(type: "application/x-ns-proxy-autoconfig", body: ByteBuffer(string: script))
    }

    /// The script: `FindProxyForURL` with the map's hosts and host patterns, those of `intercept` too; every other host
    /// is reached directly.
    ///
    /// - Parameters:
    ///   - proxy: `host:port` of this proxy as the client knows it.
    ///   - isEncrypted: whether the client speaks TLS with the proxy.
    static func script(for map: SubstitutionMap, proxy: String, isEncrypted: Bool) -> String {
        let way = isEncrypted ? "HTTPS" : "PROXY"
        // What a tunnel is to be decrypted for is not seen unless the client comes here.
        let hosts = Set(map.namedHosts().filter { $0.scheme == "http" || $0.scheme == "https" }.map(\.host))
            .union(map.interceptPatterns).map(withoutBrackets)
        guard !map.hasExpressions, hosts.count <= mostHosts else {
            return """
                // subproxy: the map has rules for hosts that can't be listed, so every request goes to the proxy.
                function FindProxyForURL(url, host) {
                  return "\(way) \(quoted(proxy)); DIRECT";
                }

                """
        }
        let exact = hosts.filter { !$0.contains("*") }.sorted().map { "  \"\(quoted($0))\": 1" }.joined(
            separator: ",\n")
        let patterns = hosts.filter { $0.contains("*") }.sorted().map { "  \"\(quoted($0))\"" }.joined(separator: ",\n")
        return """
            // subproxy: only the hosts of the map go to the proxy.
            var hosts = {
            \(exact)
            };
            var patterns = [
            \(patterns)
            ];
            function FindProxyForURL(url, host) {
              host = host.toLowerCase().replace(/\\.$/, "").replace(/^\\[|\\]$/g, "");
              var found = Object.prototype.hasOwnProperty.call(hosts, host);
              for (var i = 0; !found && i < patterns.length; i++) found = shExpMatch(host, patterns[i]);
              return found ? "\(way) \(quoted(proxy)); DIRECT" : "DIRECT";
            }

            """
    }

    /// Browsers hand over IPv6 addresses without their brackets.
    private static func withoutBrackets(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }

    /// Text inside a JavaScript string: host names need no escapes, so anything else is left out.
    private static func quoted(_ text: String) -> String {
        String(
            decoding: text.utf8.filter { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
                    || ".-_:[]*".utf8.contains(byte)
            }, as: UTF8.self)
    }
}
