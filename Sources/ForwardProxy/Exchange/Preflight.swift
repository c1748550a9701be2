import HTTP1
import HTTPSemantics
import NIOCore
import Substitution

extension LoopContext {
    /// Answers a preflight for a URL whose rule answers cross-origin requests (Fetch standard).
    func answerPreflight(_ rule: Rule, _ request: Request, _ client: any ExchangeClient) {
        answerPreflight(rule.position, rule.options, request, client)
    }

    /// Answers a preflight for what `position` names, with its options.
    func answerPreflight(
        _ position: String, _ options: RuleOptions, _ request: Request, _ client: any ExchangeClient
    ) {
        let fields = request.head.fields
        noteRule(position, on: client)
        var lines = ByteBuffer()
        let ownChanges = options.headers.filter { $0.value != nil }
        if options.namesHeader("access-control-allow-origin") {
            for change in ownChanges { MessageWriter.writeField(change.name, change.value ?? [], to: &lines) }
        } else {
            options.corsFields.writePreflight(for: fields, options, to: &lines)
        }
        if !ownChanges.contains(where: { $0.name.equalsIgnoringASCIICase("x-content-type-options") }) {
            lines.writeStaticString("X-Content-Type-Options: nosniff\r\n")
        }
        StatusFields.writeHit(rule: position, to: &lines)
        lines.writeImmutableBuffer(proxy.identity.viaLine)
        lines.writeImmutableBuffer(dateStamp().line)
        client.record?.outcome = .substituted
        client.record?.reason = "preflight"
        client.start(ResponseStart(status: 204, reason: nil, lines: lines, body: .none))
        client.finish(trailers: nil)
    }
}
