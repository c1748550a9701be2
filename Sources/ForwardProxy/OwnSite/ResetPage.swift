import Diagnostics
import HTTPSemantics
import NIOCore

extension LoopContext {
    /// Drops what databases have in memory, so that their files or seeds answer again, and begins answers in turn and
    /// the numbers of templates anew; with `?mine` the answers in turn of the asking client alone.
    ///
    /// A page of another site can't ask for it: a browser says from where a page asks (Origin; Fetch Metadata).
    func reset(_ request: OwnRequest) -> OwnRoute.Answer {
        let fields = request.request.head.fields
        if fields.contains(.origin) {
            let scheme = request.isEncrypted ? "https" : "http"
            guard fields.count(of: .origin) == 1, let origin = fields.firstText(.origin).flatMap({ WebOrigin($0) }),
                origin == WebOrigin("\(scheme)://\(request.authority)")
            else {
                return .error(.otherSite)
            }
        }
        let site = fields.texts(named: "sec-fetch-site")
        guard site.allSatisfy({ $0 == "same-origin" || $0 == "none" }) else { return .error(.otherSite) }
        let query = request.request.head.withTarget { target in
            target.firstIndex(of: UInt8(ascii: "?")).map { Array(target[($0 + 1)...]) } ?? []
        }
        // `?mine` is for what a client has of its own, which databases have not.
        let names = query.split(separator: UInt8(ascii: "&")).map { parameter in
            parameter.prefix { $0 != UInt8(ascii: "=") }
        }
        // One that is misspelt would drop what all clients have.
        if let unknown = names.first(where: { !$0.elementsEqual("mine".utf8) }) {
            return .error(.unknownParameter(visibleText(of: unknown, limit: 40)))
        }
        guard names.isEmpty else {
            proxy.turns.reset(request.client)
            proxy.sequences.reset(request.client)
            return .page(.done)
        }
        proxy.turns.reset()
        proxy.sequences.reset()
        proxy.templates.reset()
        let promise = eventLoop.makePromise(of: Void.self)
        proxy.databases.reset { promise.succeed() }
        return .later(promise.futureResult.assumeIsolated().map { OwnPage.done }.nonisolated())
    }
}

extension FieldSection {
    /// The values of the lines of a name, as text.
    func texts(named name: String) -> [String] {
        var values: [String] = []
        forEach(named: Array(name.utf8)) { values.append(String(decoding: $0, as: UTF8.self)) }
        return values
    }
}

extension ProxyError {
    fileprivate static func unknownParameter(_ name: String) -> ProxyError {
        ProxyError(
            status: 400, type: "http_request_error", failure: "/reset has no parameter '\(name)'.",
            advice: "Ask for /reset, or for /reset?mine for the asking client alone.", isRefusal: true)
    }

    fileprivate static let otherSite = ProxyError(
        status: 403, type: "http_request_denied", failure: "A page of another site can't reset the proxy.",
        advice: "Ask from this machine without a page, as with curl -X POST.", isRefusal: true)
}
