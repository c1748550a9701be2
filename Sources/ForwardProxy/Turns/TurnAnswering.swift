import HTTPSemantics
import Substitution

extension LoopContext {
    /// Answers a request with the client's next one of several answers.
    ///
    /// A turn is taken when the request is answered. HEAD takes none: it is answered as the next GET would be.
    func answer(
        _ answers: AnswersInTurn, _ use: RuleUse, revalidates: Bool, _ request: Request, _ client: any ExchangeClient,
        bodyIsGone: Bool, body: [UInt8]?
    ) -> (any Exchange)? {
        let asking = TurnClient(request, client)
        let turn =
            request.isHead
            ? proxy.turns.next(answers.identity, of: asking)
            : proxy.turns.take(answers.identity, of: asking, following: answers.turn)
        let number = answers.number(of: turn)
        let chosen = RuleUse(answers.match(number), in: use.map, uri: use.uri, table: use.table)
        if client.record?.reason.isEmpty == true {
            client.record?.reason = "answer \(number + 1) of \(answers.count)"
        }
        let source = answers.answer(number)
        if case .origin(let target) = source {
            return forward(to: target, chosen, request, client, bodyIsGone: bodyIsGone)
        }
        return answer(
            chosen, from: source, revalidates: revalidates, request, client, bodyIsGone: bodyIsGone, body: body)
    }

    /// - Parameter target: the URL of the answer; nil for the request's own.
    private func forward(
        to target: TargetURI?, _ use: RuleUse, _ request: Request, _ client: any ExchangeClient, bodyIsGone: Bool
    ) -> (any Exchange)? {
        noteRule(use.rule.position, on: client)
        guard !bodyIsGone else {
            client.fail(.originHasFailed(rule: use.rule.position).answering(by: use.rule.options))
            return nil
        }
        let asked = AskedRequest(request, use.uri)
        return beginReplayed(request, asked, client) { [self] in
            noteRule(use.rule.position, on: client)
            let options = use.rule.options
            switch decider.forwarding(RequestCacheControl(asked.fields), by: use.rule) {
            case .refuse(let error): client.fail(error.answering(by: options))
            case .forward(let reason):
                let plan = ForwardPlan(
                    reason: reason, outcome: .forwarded, detail: use.rule.position,
                    headers: options.headers + options.noStore, answersCORS: options.answersCORS,
                    pace: ForwardPlan.Pace(options))
                return forward(request, asked, to: target?.ofRootPage ?? asked.uri, client, plan)
            default: client.fail(.internalError)
            }
            return nil
        }
    }
}

extension RuleOptions {
    /// What one of several answers says where `headers` names no Cache-Control: who kept it would not ask for the next
    /// one.
    var noStore: [FieldChange] {
        cacheControl.isEmpty ? [FieldChange(name: "Cache-Control", value: Array("no-store".utf8))] : []
    }

    /// What `headers` says of Cache-Control.
    var cacheControl: [FieldChange] { headers.filter { $0.name.equalsIgnoringASCIICase("cache-control") } }
}

extension ProxyError {
    fileprivate static func originHasFailed(rule: String) -> ProxyError {
        ProxyError(
            status: 502, type: "destination_unavailable",
            failure: "The origin has failed, and the answer that \(rule) has in turn is the origin's.",
            advice: "Let another source than 'forward' answer there.")
    }
}
