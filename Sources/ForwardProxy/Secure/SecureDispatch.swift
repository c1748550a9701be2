import HTTPSemantics
import NIOCore

extension LoopContext {
    /// Begins the exchange for a request inside a decrypted tunnel: origin-form or `*`, for the tunnel's own origin
    /// (RFC 9112 §3.2.1).
    func begin(
        _ request: Request, _ target: RequestTarget, in secured: SecureAuthority, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        // Absolute-form wins over Host (RFC 9112 §3.2.2), which here has to name the tunnel's origin all the same.
        let namesOrigin = request.head.fields.withFirst(.host) { secured.isNamed(by: $0) } ?? true
        guard namesOrigin else { return refuse(request, .wrongAuthority(secured.text), client) }
        switch target {
        case .absolute(let uri):
            guard secured.isOrigin(of: uri) else { return refuse(request, .wrongAuthority(secured.text), client) }
            return begin(request, uri, client)
        case .origin:
            return request.head.withTarget { begin(request, path: $0, in: secured, client) }
        // `OPTIONS *` asks the tunnel's origin what it can do, not this proxy (RFC 9112 §3.2.4).
        case .asterisk:
            return begin(request, path: UnsafeRawBufferPointer(start: nil, count: 0), in: secured, client)
        case .authority:
            return refuse(request, .badRequest("A decrypted tunnel has no CONNECT inside."), client)
        }
    }

    private func begin(
        _ request: Request, path: UnsafeRawBufferPointer, in secured: SecureAuthority, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        do throws(TargetError) {
            let uri = try TargetURI(
                scheme: secured.scheme == .https ? "https" : "http", authority: secured.bytes, pathAndQuery: path)
            return begin(request, uri, client)
        } catch {
            return refuse(request, .badRequest("The request target is malformed: \(error)."), client)
        }
    }

    private func refuse(_ request: Request, _ error: ProxyError, _ client: any ExchangeClient) -> (any Exchange)? {
        open(record(request, url: nil), request.head, on: client)
        client.fail(error)
        return nil
    }
}
