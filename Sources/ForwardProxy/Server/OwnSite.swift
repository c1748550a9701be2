import HTTP1
import HTTPCaching
import HTTPSemantics
import NIOCore
import Substitution
import TLSTermination

/// A page of the proxy's own.
struct OwnPage {
    var type: String
    var body: ByteBuffer
}

/// The proxy's own pages: what a request in origin-form, or one in absolute-form for a listener's own name, is for.
///
/// Every page needs a Host that is one of the listener's own names: a page of another site whose name was made to
/// resolve to this address must not be able to read them (DNS rebinding).
extension LoopContext {
    /// Whether the target is this proxy itself, by name; addresses that a name leads to are judged when connecting.
    func isOwn(_ uri: TargetURI) -> Bool {
        uri.scheme == .http
            && uri.withBytes { bytes in
                let authority = uri.hostRange.lowerBound..<uri.pathStart
                return proxy.ownNames.contains(UnsafeRawBufferPointer(rebasing: bytes[authority]))
            }
    }

    /// Answers a request in origin-form.
    func answerOwnSite(
        _ request: Request, pathRange: Range<Int>, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        let path = request.head.withTarget { Array($0.prefix { $0 != UInt8(ascii: "?") }) }
        return answerOwn(request, path: path, isProxied: false, client)
    }

    /// Answers a request in absolute-form for one of the listener's own names; what is not served is a loop.
    func answerOwnSite(_ request: Request, _ uri: TargetURI, _ client: any ExchangeClient) -> (any Exchange)? {
        let path = uri.withBytes { Array($0[uri.pathStart..<uri.pathEnd]) }
        return answerOwn(request, path: path, isProxied: true, client)
    }

    private func answerOwn(
        _ request: Request, path: [UInt8], isProxied: Bool, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        guard request.head.fields.withFirst(.host, { proxy.ownNames.contains($0) }) == true else {
            client.fail(.misdirected)
            return nil
        }
        let path = String(decoding: path, as: UTF8.self)
        let file = AuthorityFile(path: path)
        guard file != nil || path == "/" || path == "/proxy.pac" else {
            client.fail(isProxied ? .loop : .notFound)
            return nil
        }
        guard request.head.method == .get || request.head.method == .head else {
            client.fail(
                ProxyError(
                    status: 405, failure: "The proxy's own pages answer GET and HEAD.", advice: "Use GET.",
                    isRefusal: true))
            return nil
        }
        let isHead = request.isHead
        if path == "/proxy.pac" {
            send(
                OwnPage(
                    type: "application/x-ns-proxy-autoconfig",
                    body: ByteBuffer(
                        string: ProxyAutoConfiguration.script(
                            for: map, proxy: ownAuthority(request), isEncrypted: client.isEncrypted))),
                isHead: isHead, client)
            return nil
        }
        guard !tunnelPolicy.intercepted.isEmpty else {
            if file == nil { send(statusPage(nil), isHead: isHead, client) } else { client.fail(.nothingDecrypted) }
            return nil
        }
        let exchange = AuthorityPageExchange(client)
        exchange.begin(self) { [self] authority, client in
            guard let file else { return send(statusPage(authority), isHead: isHead, client) }
            switch authority {
            case .success(let authority): send(file.page(authority), isHead: isHead, client)
            case .failure(let error): client.fail(error as? ProxyError ?? .internalError)
            }
        }
        return exchange
    }

    private func send(_ page: OwnPage, isHead: Bool, _ client: any ExchangeClient) {
        var lines = ByteBuffer()
        MessageWriter.writeField("Content-Type", Array(page.type.utf8), to: &lines)
        lines.writeStaticString("Content-Length: ")
        lines.writeDecimal(page.body.readableBytes)
        lines.writeStaticString(
            """
            \r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
            Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
            Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n
            """)
        lines.writeImmutableBuffer(dateStamp().line)
        client.record?.outcome = .substituted
        client.record?.reason = "the proxy's own page"
        client.start(
            ResponseStart(
                status: 200, reason: nil, lines: lines, body: isHead ? .none : .length(page.body.readableBytes)))
        if !isHead { client.send(page.body) }
        client.finish(trailers: nil)
    }

    /// `OPTIONS *`: what the proxy itself can do (RFC 9110 §9.3.7).
    func answerOwnOptions(_ request: Request, _ client: any ExchangeClient) -> (any Exchange)? {
        guard request.head.fields.withFirst(.host, { proxy.ownNames.contains($0) }) == true else {
            client.fail(.misdirected)
            return nil
        }
        answerOptions(client)
        return nil
    }

    /// A final recipient by Max-Forwards answers itself (RFC 9110 §7.6.2).
    ///
    /// - Returns: nil where the request is to be forwarded.
    func answerMaxForwards(_ request: Request, _ client: any ExchangeClient) -> Begun? {
        let head = request.head
        guard head.method == .options || head.method == .trace,
            head.fields.withFirst(.maxForwards, { $0.decimalValue }) == .some(0)
        else { return nil }
        if head.method == .options {
            answerOptions(client)
        } else {
            client.fail(
                ProxyError(
                    status: 405, type: "http_request_denied", failure: "TRACE is not answered here.",
                    advice: "Raise Max-Forwards to reach the origin.", isRefusal: true))
        }
        return Begun(value: nil)
    }

    func answerOptions(_ client: any ExchangeClient) {
        var lines = ByteBuffer(
            string: "Allow: GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, PATCH\r\nContent-Length: 0\r\n")
        lines.writeImmutableBuffer(proxy.identity.viaLine)
        lines.writeImmutableBuffer(dateStamp().line)
        client.record?.outcome = .substituted
        client.start(ResponseStart(status: 200, reason: nil, lines: lines, body: .length(0)))
        client.finish(trailers: nil)
    }

    /// Answers a preflight for a mapped URL whose rule answers cross-origin requests (Fetch standard).
    ///
    /// - Returns: nil where the request is no such preflight.
    func answerPreflight(_ request: Request, _ uri: TargetURI, _ client: any ExchangeClient) -> Begun? {
        let fields = request.head.fields
        guard CORS.isPreflight(request.head.method, fields), let requested = CORS.requestedMethod(fields) else {
            return nil
        }
        let method = requested.withUnsafeBytes { RequestMethod($0) }
        guard let match = map.lookup(uri, method: method, fields: fields, scratch: &preflightScratch)
        else { return nil }
        let rule = map.rule(match.id)
        guard rule.options.cors == .auto, !rule.forwards else { return nil }
        noteRule(rule.position, on: client)
        var lines = ByteBuffer()
        let ownChanges = rule.options.headers.filter { $0.value != nil }
        if ownChanges.contains(where: { $0.name.equalsIgnoringASCIICase("access-control-allow-origin") }) {
            for change in ownChanges { MessageWriter.writeField(change.name, change.value ?? [], to: &lines) }
        } else {
            CORSFields.writePreflight(for: fields, methods: rule.options.allowedMethods, to: &lines)
        }
        StatusFields.writeHit(rule: rule.position, to: &lines)
        lines.writeImmutableBuffer(proxy.identity.viaLine)
        lines.writeImmutableBuffer(dateStamp().line)
        client.record?.outcome = .substituted
        client.record?.reason = "preflight"
        client.start(ResponseStart(status: 204, reason: nil, lines: lines, body: .none))
        client.finish(trailers: nil)
        return Begun(value: nil)
    }

    private func ownAuthority(_ request: Request) -> String {
        request.head.fields.firstText(.host) ?? ""
    }

    private func statusPage(_ authority: Result<CertificateAuthority, any Error>?) -> OwnPage {
        let counts = proxy.counters.totals.map { "<tr><th>\($0.name)<td>\($0.count)" }.joined(separator: "\n")
        let files = proxy.files.statistics
        let maps = map.files.map { "<li><code>\(ErrorPage.escaped($0))</code>" }.joined(separator: "\n")
        let text = """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <title>subproxy</title>
            <style>
            body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 42rem; padding: 0 1rem }
            h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
            th { text-align: left; font-weight: normal; padding-right: 2rem } td { text-align: right }
            </style>
            <h1>subproxy is running</h1>
            <p>Set this address as the HTTP proxy of a browser or an app, or give it <code>/proxy.pac</code>, which sends
            only the hosts of the map here.</p>
            <h2>Map</h2>
            <p>\(map.ruleCount) rules in force, from</p>
            <ul>
            \(maps)
            </ul>
            \(AuthorityPassage.html(authority))<h2>Exchanges since the start</h2>
            <table>
            \(counts)
            </table>
            <h2>Stored responses</h2>
            <table>
            \(storedRows())
            </table>
            <h2>Retained files</h2>
            <table>
            <tr><th>files<td>\(files.entries)
            <tr><th>bytes<td>\(files.bytes)
            <tr><th>loads<td>\(files.loads)
            <tr><th>evictions<td>\(files.evictions)
            </table>
            </html>

            """
        return OwnPage(type: "text/html; charset=utf-8", body: ByteBuffer(string: text))
    }

    private func storedRows() -> String {
        guard let cache = proxy.cache else { return "<tr><th>nothing is stored (--cache-mode off)" }
        let store = cache.store.statistics
        return """
            <tr><th>responses<td>\(store.entries)
            <tr><th>bytes<td>\(store.bytes)
            <tr><th>evictions<td>\(store.evictions)
            """
    }
}
