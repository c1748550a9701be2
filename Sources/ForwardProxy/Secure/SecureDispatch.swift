import HTTPSemantics
import NIOCore

extension LoopContext {
    /// Begins the exchange for a request inside a decrypted tunnel: origin-form, for the tunnel's own origin (RFC 9112
    /// §3.2.1).
    func begin(
        _ request: Request, _ target: RequestTarget, in secured: SecureAuthority, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        client.record = record(request, url: nil)
        // Absolute-form wins over Host (RFC 9112 §3.2.2), which here has to name the tunnel's origin all the same.
        let namesOrigin = request.head.fields.withFirst(.host) { secured.isNamed(by: $0) } ?? true
        guard namesOrigin else {
            client.fail(.wrongAuthority(secured.text))
            return nil
        }
        switch target {
        case .absolute(let uri):
            guard secured.isOrigin(of: uri) else {
                client.fail(.wrongAuthority(secured.text))
                return nil
            }
            return begin(request, uri, client)
        case .origin:
            do throws(TargetError) {
                let uri = try request.head.withTarget { path throws(TargetError) in
                    try TargetURI(scheme: "https", authority: Array(secured.text.utf8), pathAndQuery: path)
                }
                return begin(request, uri, client)
            } catch {
                client.fail(.badRequest("The request target is malformed: \(error)."))
                return nil
            }
        case .authority:
            client.fail(.badRequest("A decrypted tunnel has no CONNECT inside."))
            return nil
        case .asterisk:
            answerOptions(client)
            return nil
        }
    }
}
