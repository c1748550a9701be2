import HTTP1
import HTTPSemantics
import NIOCore
import Substitution

extension LoopContext {
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
}
