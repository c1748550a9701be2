import HTTPSemantics
import NIOCore
import TLSTermination

extension OwnRoute {
    /// The proxy's own site. The first route that a path matches answers it.
    static let all: [OwnRoute] = [
        OwnRoute(.exact("/"), for: .users) { loop, _ in .later(loop.statusPage()) },
        OwnRoute(.exact("/proxy.pac"), for: .anybody) { loop, request in
            .page(ProxyAutoConfiguration.page(for: loop.map, request))
        },
        OwnRoute(.exact("/metrics"), for: .thisMachineAndUsers) { loop, _ in .later(loop.metricsPage()) },
        OwnRoute(.exact("/healthz"), for: .anybody) { loop, _ in .page(loop.isStopping ? .stopping : .serving) },
        OwnRoute(.exact("/reset"), methods: ["POST"], for: .thisMachineAndUsers) { loop, request in
            loop.reset(request)
        },
        OwnRoute(.exact("/ca.pem"), for: .anybody) { loop, _ in loop.answer(with: .certificate) },
        OwnRoute(.exact("/ca.mobileconfig"), for: .anybody) { loop, _ in loop.answer(with: .configurationProfile) },
        OwnRoute(.below("/console/"), for: .anybody) { _, request in ConsoleFile.answer(request) },
        OwnRoute(.exact("/session/restore"), for: .anybody) { _, _ in .page(SessionPage.restoring) },
        OwnRoute(.below("/sessions/"), for: .owners) { loop, request in loop.sessionPage(request) },
    ]
}

extension OwnRoute {
    /// The route for a path and a method, or what is answered where there is none.
    ///
    /// - Parameter isProxied: whether the request was for the proxy to pass on, by its form: then a path that is none
    ///   of these is a loop.
    static func find(
        _ path: [UInt8], _ method: [UInt8], isProxied: Bool, among routes: [OwnRoute] = all
    ) -> Result<OwnRoute, ProxyError> {
        guard let route = routes.first(where: { $0.matches(path: path) }) else {
            return .failure(isProxied ? .loop : .noSuchPage(routes))
        }
        return route.answers(method) ? .success(route) : .failure(.methodNotAnswered(by: route))
    }
}

/// The proxy's own pages: what a request in origin-form, or one in absolute-form for a listener's own name, is for.
///
/// Every page needs a Host that is one of the listener's own names: a page of another site whose name was made to
/// resolve to this address must not be able to read them (DNS rebinding).
extension LoopContext {
    /// Whether the request's Host is one of the proxy's own names.
    ///
    /// - Parameter isSecure: whether the port that a Host without one stands for is https's.
    func namesProxy(_ request: Request, isSecure: Bool) -> Bool {
        request.head.fields.withFirst(.host) { proxy.ownNames.contains($0, isSecure: isSecure) } == true
    }

    /// Answers a request in origin-form.
    func answerOwnSite(
        _ request: Request, pathRange: Range<Int>, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        let path = request.head.withTarget { Array($0.prefix { $0 != UInt8(ascii: "?") }) }
        return answerOwn(request, path: path, isProxied: false, isSecure: client.isEncrypted, client)
    }

    /// Answers a request in absolute-form for one of the listener's own names; what is not served is a loop.
    func answerOwnSite(_ request: Request, _ uri: TargetURI, _ client: any ExchangeClient) -> (any Exchange)? {
        let isSecure = uri.scheme == .https
        if request.head.method == .options, uri.isPathEmpty {
            return answerOwnOptions(request, isSecure: isSecure, client)
        }
        let path = uri.withBytes { Array($0[uri.pathStart..<uri.pathEnd]) }
        return answerOwn(request, path: path, isProxied: true, isSecure: isSecure, client)
    }

    private func answerOwn(
        _ request: Request, path: [UInt8], isProxied: Bool, isSecure: Bool, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        let isConsole = ConsolePath.contains(path)
        // What is in the query of such a page is nobody's but its reader's.
        if isConsole { client.record?.omitQuery() }
        func refuse(_ error: ProxyError) -> (any Exchange)? {
            client.fail(isConsole ? error.ofConsole : error)
            return nil
        }
        guard namesProxy(request, isSecure: isSecure) else { return refuse(.misdirected) }
        if let error = Decider.expectationError(request.head.fields, request.head.version) { return refuse(error) }
        let route: OwnRoute
        switch OwnRoute.find(path, request.head.methodBytes, isProxied: isProxied, among: ownRoutes) {
        case .success(let found): route = found
        case .failure(let error):
            // Whoever is not admitted learns nothing of what there is.
            guard let hidden = ownRoutes.first(where: { $0.matches(path: path) }), hidden.audience == .owners else {
                return refuse(error)
            }
            return admit(to: hidden, request, isProxied: isProxied, client) { _ in
                refuse(SessionPath(path) == nil ? .noSuchSession : error)
            }
        }
        return admit(to: route, request, isProxied: isProxied, client) { [self] in
            answer(by: route, $0, path: path, isProxied: isProxied, client)
        }
    }

    /// Begins an exchange if the client belongs to the route's audience.
    private func admit(
        to route: OwnRoute, _ request: Request, isProxied: Bool, _ client: any ExchangeClient,
        begin: @escaping (Request) -> (any Exchange)?
    ) -> (any Exchange)? {
        func refuse(_ error: ProxyError) -> (any Exchange)? {
            client.fail(route.audience == .owners ? error.ofConsole : error)
            return nil
        }
        switch route.audience.judge(
            isLocal: client.isLocal, hasAccessControl: proxy.access != nil, isProxied: isProxied)
        {
        case .refused: return refuse(route.audience == .owners ? .notAdmitted : .localOnly)
        case .credentialsNeeded:
            guard let access = proxy.access else { return refuse(.internalError) }
            return access.admit(request, client, by: .authorization, begin: begin)
        case .ownerNeeded: return admitOwner(request, client, begin: begin)
        case .admitted: return begin(request)
        }
    }

    private func answer(
        by route: OwnRoute, _ request: Request, path: [UInt8], isProxied: Bool, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        let exchange = OwnPageExchange(client, isHead: request.isHead)
        let asked = OwnRequest(
            request: request, path: path, isEncrypted: client.isEncrypted,
            isFromLoopback: AddressBytes.isLoopback(client.address),
            client: TurnClient(
                ownSite: request.head.fields, address: client.address, isProxied: isProxied,
                hasAccessControl: proxy.access != nil))
        switch route.answer(self, asked) {
        case .page(let page): exchange.begin(page)
        case .later(let page): exchange.begin(page)
        case .error(let error):
            client.fail(ConsolePath.contains(path) ? error.ofConsole : error)
            return nil
        }
        return exchange.isOver ? nil : exchange
    }
}

extension ProxyError {
    fileprivate static func noSuchPage(_ routes: [OwnRoute]) -> ProxyError {
        let pages = routes.map { "\($0.path.text)" }
        let last = pages.last.map { " and \($0)" } ?? ""
        return ProxyError(
            status: 404, type: "http_request_error", failure: "The proxy itself has no such page.",
            advice: "Its own pages are \(pages.dropLast().joined(separator: ", "))\(last).", isRefusal: true)
    }

    fileprivate static func methodNotAnswered(by route: OwnRoute) -> ProxyError {
        var error = ProxyError(
            status: 405, type: "http_request_error",
            failure: "The proxy's own pages answer \(route.methods.joined(separator: " and ")).",
            advice: "Use \(route.methods.first ?? "").", isRefusal: true)
        error.allow = route.methods.joined(separator: ", ")
        return error
    }
}
