import Curl
import Files
import HTTP1
import NIOCore
import Substitution

/// The errors of origins, parent proxies and files that fail (RFC 9209 §2.3 names the types).
extension ProxyError {
    /// An error for which a stored response may stand in, since there is no way to the origin (RFC 9111 §4.2.4).
    private static func unreachable(
        status: Int, type: StaticString, failure: String, advice: String
    ) -> ProxyError {
        var error = ProxyError(status: status, type: type, failure: failure, advice: advice)
        error.isUnreachable = true
        return error
    }

    static func originProtocol(_ what: String) -> ProxyError {
        ProxyError(
            status: 502, type: "http_protocol_error", failure: "The origin \(what).",
            advice: "The origin's response can't be passed on; its operator has to mend it.")
    }

    static func dns(_ host: String) -> ProxyError {
        unreachable(
            status: 502, type: "dns_error", failure: "The host name \(host) was not found.",
            advice: "Check the name, this machine's resolver, or give the address with --resolve.")
    }

    static func parentNotFound(_ host: String) -> ProxyError {
        unreachable(
            status: 502, type: "dns_error",
            failure: "The name of the parent proxy, through which \(host) is reached, was not found.",
            advice: "Check --upstream-proxy and this machine's resolver, or reach the host without it (--no-proxy).")
    }

    static func notReached(_ host: String, _ why: String) -> ProxyError {
        unreachable(
            status: 502, type: "connection_refused", failure: "No connection to \(host): \(why).",
            advice: "Check that the server runs and listens on that port.")
    }

    static func noResources(_ host: String, _ why: String) -> ProxyError {
        ProxyError(
            status: 503, type: "proxy_internal_error", failure: "The system gives no connection to \(host): \(why).",
            advice: "Try again, or raise the proxy's limit on open files.")
    }

    static func noLibrary(_ why: String) -> ProxyError {
        ProxyError(
            status: 500, type: "proxy_internal_error", failure: "Nothing can be forwarded: \(why).",
            advice: "Install libcurl (Debian's package libcurl4) where the proxy runs; mapped URLs do without it.")
    }

    static func connectTimeout(_ host: String) -> ProxyError {
        unreachable(
            status: 504, type: "connection_timeout", failure: "The connection to \(host) was not made in time.",
            advice: "Check the network, or raise --connect-timeout.")
    }

    static func silent(_ host: String) -> ProxyError {
        ProxyError(
            status: 504, type: "http_response_timeout", failure: "The origin \(host) was silent for too long.",
            advice: "Try again, or raise --origin-timeout.")
    }

    static func terminated(_ host: String, _ why: String) -> ProxyError {
        unreachable(
            status: 502, type: "connection_terminated", failure: "The origin \(host) broke the connection off: \(why).",
            advice: "Try again; the origin's own log may say more.")
    }

    /// The parent proxy refused a request.
    static func parentRefused(_ status: Int, host: String) -> ProxyError {
        guard status == 407 else {
            return ProxyError(
                status: 502, type: "http_request_denied",
                failure: "The parent proxy refused a connection to \(host): it answered \(status).",
                advice: "See the parent proxy's own log, or reach the host without it (--no-proxy).")
        }
        return ProxyError(
            status: 502, type: "proxy_configuration_error",
            failure: "The parent proxy wants credentials for \(host): it answered 407.",
            advice: "Give them, or the right ones: --upstream-proxy http://NAME:PASSWORD@HOST:PORT.")
    }

    static func tls(_ host: String, _ why: String, isCertificate: Bool) -> ProxyError {
        var error = ProxyError(
            status: 502, type: isCertificate ? "tls_certificate_error" : "tls_protocol_error",
            failure: "No trusted TLS connection to \(host): \(why).",
            advice: isCertificate
                ? "The origin's certificate is always verified; trust its issuer with --origin-ca if it is yours."
                : "The origin must speak TLS 1.2 or later on this port.")
        error.isUnverified = isCertificate
        return error
    }

    /// The certificates that origins are verified with can't be read, so none was asked.
    static func trustAnchors(_ host: String, _ why: String) -> ProxyError {
        var error = ProxyError(
            status: 502, type: "proxy_configuration_error",
            failure: "No TLS connection to \(host): the certificates to trust can't be used: \(why).",
            advice: "Mend the file of --origin-ca; without it, install the system's certificates where the proxy runs "
                + "(Debian's package ca-certificates).")
        error.isUnverified = true
        return error
    }

    /// The file of a rule can't be served.
    static func file(_ refusal: FileRefusal, rule: String, path name: String) -> ProxyError {
        switch refusal {
        case .notFound:
            return ProxyError(
                status: 502, type: "proxy_configuration_error",
                failure: "The rule at \(rule) names the file \(name), which does not exist.",
                advice: "Create the file below the map's root, or change the rule (see its option `missing`).")
        case .tooManyOpenFiles, .changing, .io:
            return ProxyError(
                status: 503, type: "proxy_internal_error",
                failure: "The rule at \(rule) answers with a file that can't be read just now: \(refusal).",
                advice: "Try again.")
        default:
            return ProxyError(
                status: 403, type: "http_request_denied",
                failure: "The rule at \(rule) answers with a file that may not be served: \(refusal).",
                advice: "Only regular files below the map's root, reached without symbolic links, are served.",
                isRefusal: true)
        }
    }

    /// The URL that the rule makes with what its key captured is not one to send anybody to.
    static func noUsableURL(rule: String, _ why: RefusalReason) -> ProxyError {
        .badRequest("The rule at \(rule) makes no usable URL: \(why).")
    }

    /// The file does not exist, and the rule says `missing: 404`, or nothing can have that name.
    static func noSuchFile(rule: String) -> ProxyError {
        ProxyError(
            status: 404, type: "", failure: "The rule at \(rule) has no file for this URL.",
            advice: "Create the file below the map's root.", isRefusal: true)
    }
}
