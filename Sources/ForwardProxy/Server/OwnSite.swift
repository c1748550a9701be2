import HTTP1
import HTTPCaching
import HTTPSemantics
import NIOCore
import NIOPosix
import Substitution
import TLSTermination

/// A page of the proxy's own.
struct OwnPage {
    var status = 200
    var type: String
    var body: ByteBuffer

    /// What `/healthz` says while requests are taken.
    static let serving = OwnPage(type: "text/plain; charset=utf-8", body: ByteBuffer(string: "ok\n"))
    /// What it says when the proxy finishes what is under way, and takes no more.
    static let stopping = OwnPage(
        status: 503, type: "text/plain; charset=utf-8", body: ByteBuffer(string: "stopping\n"))
}

/// What a path of the proxy's own site names.
enum OwnResource {
    case status, proxyConfiguration, metrics, health
    case authority(AuthorityFile)

    init?(path: String) {
        switch path {
        case "/": self = .status
        case "/proxy.pac": self = .proxyConfiguration
        case "/metrics": self = .metrics
        case "/healthz": self = .health
        default:
            guard let file = AuthorityFile(path: path) else { return nil }
            self = .authority(file)
        }
    }

    /// Whether it tells how the proxy is used; the others are what clients need before they can use it.
    var isPrivate: Bool {
        switch self {
        case .status, .metrics: true
        case .proxyConfiguration, .health, .authority: false
        }
    }
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
        if request.head.method == .options, uri.isPathEmpty { return answerOwnOptions(request, client) }
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
        guard let resource = OwnResource(path: String(decoding: path, as: UTF8.self)) else {
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
        guard resource.isPrivate, !client.isLocal else { return answer(with: resource, request, client) }
        guard let access = proxy.access else {
            if case .metrics = resource {
                client.fail(.localOnly)
                return nil
            }
            return answer(with: resource, request, client)
        }
        // In absolute-form it has been asked for Proxy-Authorization before.
        guard !isProxied else { return answer(with: resource, request, client) }
        return access.admit(request, client, by: .authorization) { [self] in
            answer(with: resource, $0, client)
        }
    }

    private func answer(
        with resource: OwnResource, _ request: Request, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        let isHead = request.isHead
        let exchange = OwnPageExchange(client)
        switch resource {
        case .health:
            send(isStopping ? .stopping : .serving, isHead: isHead, client)
            return nil
        case .proxyConfiguration:
            let script = ProxyAutoConfiguration.script(
                for: map, proxy: ownAuthority(request), isEncrypted: client.isEncrypted)
            send(
                OwnPage(type: "application/x-ns-proxy-autoconfig", body: ByteBuffer(string: script)), isHead: isHead,
                client)
            return nil
        case .metrics:
            exchange.begin(figures()) { [self] figures, client in
                guard case .success(let figures) = figures else { return client.fail(.internalError) }
                send(proxy.metrics(figures, rules: map.ruleCount), isHead: isHead, client)
            }
        case .status:
            exchange.begin(figures().and(authorityIfAny())) { [self] result, client in
                guard case .success(let (figures, authority)) = result else { return client.fail(.internalError) }
                send(statusPage(figures, authority), isHead: isHead, client)
            }
        case .authority(let file):
            guard !tunnelPolicy.intercepted.isEmpty else {
                client.fail(.nothingDecrypted)
                return nil
            }
            exchange.begin(proxy.secureTunnels.authority(on: eventLoop)) { [self] authority, client in
                switch authority {
                case .success(let authority): send(file.page(authority), isHead: isHead, client)
                case .failure(let error): client.fail(error as? ProxyError ?? .internalError)
                }
            }
        }
        return exchange
    }

    /// What all event loops have to tell, and the system of the process.
    private func figures() -> EventLoopFuture<ProxyFigures> {
        proxy.roster.figures(on: eventLoop).flatMap { [proxy, eventLoop] loops in
            proxy.filePool.runIfActive(eventLoop: eventLoop) {
                ProxyFigures(loops: loops, process: ProcessFigures.read())
            }
        }
    }

    /// The authority, or why there is none; nil where nothing is decrypted.
    private func authorityIfAny() -> EventLoopFuture<Result<CertificateAuthority, any Error>?> {
        guard !tunnelPolicy.intercepted.isEmpty else { return eventLoop.makeSucceededFuture(nil) }
        return proxy.secureTunnels.authority(on: eventLoop).map { .success($0) }
            .flatMapErrorThrowing { .failure($0) }
    }

    private func send(_ page: OwnPage, isHead: Bool, _ client: any ExchangeClient) {
        var lines = ByteBuffer()
        MessageWriter.writeField("Content-Type", Array(page.type.utf8), to: &lines)
        lines.writeStaticString("Content-Length: ")
        lines.writeDecimal(page.body.readableBytes)
        lines.writeStaticString(
            """
            \r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
            Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n
            """)
        ErrorPage.writePolicy(to: &lines)
        lines.writeImmutableBuffer(dateStamp().line)
        client.record?.outcome = .substituted
        client.record?.reason = "the proxy's own page"
        client.start(
            ResponseStart(
                status: page.status, reason: nil, lines: lines,
                body: isHead ? .none : .length(page.body.readableBytes)))
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
            string: """
                Allow: GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, PATCH\r\nContent-Length: 0\r\n\
                X-Content-Type-Options: nosniff\r\n
                """)
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
        if !ownChanges.contains(where: { $0.name.equalsIgnoringASCIICase("x-content-type-options") }) {
            lines.writeStaticString("X-Content-Type-Options: nosniff\r\n")
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
}
