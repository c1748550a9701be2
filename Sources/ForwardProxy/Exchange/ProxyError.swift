import HTTP1
import NIOCore
import Substitution

/// An error of the proxy's own: what a client is told, and what Proxy-Status says (RFC 9209 §2.3).
public struct ProxyError: Error, Sendable, Equatable {
    /// The status code of the response.
    public var status: Int
    /// The error type of RFC 9209 §2.3. Empty for a 404 that the map asks for (`missing: 404`): then Proxy-Status has
    /// its details alone, and `save` takes the response for one that was wanted.
    public var type: StaticString
    /// What failed, one sentence.
    public var failure: String
    /// Lines of a file that show where: empty where there are none.
    public var excerpt: [String] = []
    /// What to do about it, one sentence.
    public var advice: String
    /// The same over HTTP/2, where it is another.
    var adviceOverHTTP2: String?
    /// Whether the exchange counts as refused by a policy rather than failed.
    public var isRefusal: Bool
    /// Whether the origin was not reached, or closed the connection without a response.
    public var isUnreachable = false
    /// Whether nobody knows if it was the origin that was reached: its certificate is bad, or can't be verified.
    var isUnverified = false
    /// What the log says instead of ``failure``; nil for the same.
    public var note: String?
    /// Whether a script of another origin may read it, as a rule's answer.
    var answersCORS = false
    /// Whether it is about a page of the console's, so that its own page is kept from other sites too.
    var isOfConsole = false
    /// The value of Allow that a 405 carries (RFC 9110 §15.5.6).
    public var allow: String?
    /// Seconds after which another attempt may do better, as Retry-After says them (RFC 9110 §10.2.3).
    public var retryAfter: Int?

    public init(
        status: Int, type: StaticString, failure: String, advice: String, isRefusal: Bool = false
    ) {
        self.status = status
        self.type = type
        self.failure = failure
        self.advice = advice
        self.isRefusal = isRefusal
    }

    public static func == (lhs: ProxyError, rhs: ProxyError) -> Bool {
        lhs.status == rhs.status && lhs.type.description == rhs.type.description && lhs.failure == rhs.failure
    }
}

extension ProxyError {
    /// The error in the place of an answer by a rule with these options.
    func answering(by options: RuleOptions) -> ProxyError {
        var error = self
        error.answersCORS = options.answersCORS
        return error
    }

    static func badRequest(_ failure: String) -> ProxyError {
        var error = ProxyError(
            status: 400, type: "http_request_error", failure: failure,
            advice: "Correct the request; the connection is closed because its framing can't be trusted.",
            isRefusal: true)
        error.adviceOverHTTP2 = "Correct the request."
        return error
    }

    static func unsupportedScheme(_ scheme: String) -> ProxyError {
        ProxyError(
            status: 501, type: "http_request_denied",
            failure: "The proxy forwards http and https; '\(scheme)' is answered only where the map has a rule for it.",
            advice: "Add a rule for this URL to the map, or ask for it without the proxy.", isRefusal: true)
    }

    static let misdirected = ProxyError(
        status: 421, type: "http_request_error",
        failure: "This is a proxy, and the Host field of the request does not name it.",
        advice: "Send requests for other servers in absolute-form, as clients with a proxy setting do.",
        isRefusal: true)

    static let localOnly = ProxyError(
        status: 403, type: "http_request_denied",
        failure: "Without --auth this page is for clients on the proxy's own machine.",
        advice: "Ask for it there, or start the proxy with --auth.", isRefusal: true)

    static let loop = ProxyError(
        status: 508, type: "proxy_loop_detected", failure: "The request has come back to this proxy.",
        advice: "Look for a proxy setting that leads from here to here: http_proxy of a server, or --upstream-proxy.",
        isRefusal: true)

    static let expectation = ProxyError(
        status: 417, type: "http_request_error",
        failure: "The Expect field asks for something other than 100-continue.",
        advice: "Remove the Expect field.", isRefusal: true)

    static let offline = ProxyError(
        status: 504, type: "destination_unavailable",
        failure: "The proxy runs with --offline, and neither the map nor the store has an answer for this URL.",
        advice: "Add a rule for it to the map, or run without --offline.")

    /// The same where a rule sends the URL to its origin.
    static func offline(rule: String) -> ProxyError {
        ProxyError(
            status: 504, type: "destination_unavailable",
            failure: "The rule at \(rule) forwards this URL, and with --offline no origin is asked.",
            advice: "Let the rule answer by itself, or run without --offline.")
    }

    static let onlyIfCached = ProxyError(
        status: 504, type: "destination_unavailable",
        failure: "The request asks for a stored response (only-if-cached), and there is none.",
        advice: "Ask without only-if-cached.")

    static let onlyIfCachedIsStale = ProxyError(
        status: 504, type: "destination_unavailable",
        failure: "The request asks for a stored response (only-if-cached), and what is stored must be validated first.",
        advice: "Ask without only-if-cached, or with max-stale if a stale response will do.")

    static func methodNotAllowed(_ allowed: String) -> ProxyError {
        var error = ProxyError(
            status: 405, type: "http_request_denied",
            failure: "The map answers this URL for \(allowed), and with --offline the origin is not asked.",
            advice: "Add the method to the rule's `methods`.", isRefusal: true)
        error.allow = allowed
        return error
    }

    static func connectPort(_ port: UInt16) -> ProxyError {
        ProxyError(
            status: 403, type: "http_request_denied",
            failure: "A connection to port \(port) for TLS or a tunnel is not allowed.",
            advice: "Allow it with --connect-ports.", isRefusal: true)
    }

    static func prohibited(_ why: String) -> ProxyError {
        ProxyError(
            status: 403, type: "destination_ip_prohibited", failure: "The address of the host \(why).",
            advice: "It can't be reached through this proxy.", isRefusal: true)
    }

    static let headerTimeout = ProxyError(
        status: 408, type: "http_request_error", failure: "The header section did not arrive in time.",
        advice: "Send the request at once, or raise --header-timeout.")

    static let bodyTimeout = ProxyError(
        status: 408, type: "http_request_error", failure: "The request's body stopped arriving.",
        advice: "Send the rest of the body.")

    static let stopping = ProxyError(
        status: 503, type: "proxy_internal_error", failure: "The proxy is stopping.", advice: "Try again.")

    static let internalError = ProxyError(
        status: 500, type: "proxy_internal_error", failure: "The proxy could not do its part.",
        advice: "See the proxy's own messages on standard error.")
}

/// Writes the body that a person reads when the proxy itself has to answer with an error.
enum ErrorPage {
    /// Writes the field that keeps a page of the proxy's own, or what somebody got into one, from running and loading
    /// anything (Content Security Policy Level 3).
    static func writePolicy(to lines: inout ByteBuffer) {
        lines.writeStaticString("Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n")
    }

    /// The page: HTML for clients that prefer it, else plain text.
    static func body(for error: ProxyError, asked: String, prefersHTML: Bool) -> ByteBuffer {
        let title = "\(error.status) \(ReasonPhrase.of(error.status))"
        let asked = asked.count > 300 ? String(asked.prefix(300)) + "…" : asked
        guard prefersHTML else {
            return ByteBuffer(
                string: """
                    subproxy: \(title)
                    asked:  \(printable(asked))
                    failed: \(printable(error.failure))\(error.excerpt.map { "\n        " + printable($0) }.joined())
                    to do:  \(error.advice)

                    """)
        }
        return ByteBuffer(
            string: """
                <!doctype html>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width">
                <title>\(title)</title>
                <style>
                body { font: 1rem/1.5 system-ui, sans-serif; margin: 3rem auto; max-width: 42rem; padding: 0 1rem }
                h1 { font-size: 1.3rem } dt { color: #666; margin-top: 1rem } dd { margin: 0; overflow-wrap: anywhere }
                </style>
                <h1>\(title)</h1>
                <dl>
                <dt>What was asked</dt><dd><code>\(escaped(asked))</code></dd>
                <dt>What failed</dt><dd>\(escaped(error.failure))\(excerpt(error))</dd>
                <dt>What to do</dt><dd>\(escaped(error.advice))</dd>
                </dl>
                <p><small>This page is from subproxy, not from the server that was asked.</small></p>

                """)
    }

    private static func excerpt(_ error: ProxyError) -> String {
        guard !error.excerpt.isEmpty else { return "" }
        return "<pre>" + error.excerpt.map(escaped).joined(separator: "\n") + "</pre>"
    }

    /// The text with what HTML would read as markup made references, and control characters left out.
    static func escaped(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            case "'": out += "&#39;"
            default: appendVisible(scalar, to: &out)
            }
        }
        return out
    }

    private static func printable(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars { appendVisible(scalar, to: &out) }
        return out
    }

    /// Leaves out what could drive a terminal or turn the direction of text.
    private static func appendVisible(_ scalar: Unicode.Scalar, to out: inout String) {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .lineSeparator, .paragraphSeparator: out += "\u{fffd}"
        default: out.unicodeScalars.append(scalar)
        }
    }
}
