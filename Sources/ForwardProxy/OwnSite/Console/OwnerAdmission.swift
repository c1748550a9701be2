import Glibc
import HTTPSemantics
import NIOCore

extension LoopContext {
    /// Begins the exchange of a client of this machine if its socket is the proxy's own user's, or one of
    /// `--console-users`; any other client needs credentials, and is refused where there are none to give.
    func admitOwner(
        _ request: Request, _ client: any ExchangeClient, begin: @escaping (Request) -> (any Exchange)?
    ) -> (any Exchange)? {
        // Another proxy of the same user has the same owner, whoever asks it.
        guard let owner = client.owner, !request.head.fields.contains(.via) else {
            return admitStranger(request, client, begin: begin)
        }
        if let answer = owner.answer {
            return isAdmitted(answer) ? begin(request) : admitStranger(request, client, begin: begin)
        }
        let exchange = AdmissionExchange(request, client)
        owner.ask(on: self) { [self] answer in
            exchange.admit { [self] in
                isAdmitted(answer) ? begin(request) : admitStranger(request, client, begin: begin)
            }
        }
        return exchange
    }

    private func admitStranger(
        _ request: Request, _ client: any ExchangeClient, begin: @escaping (Request) -> (any Exchange)?
    ) -> (any Exchange)? {
        guard let access = proxy.access else {
            client.fail(ProxyError.notAdmitted.ofConsole)
            return nil
        }
        return access.admit(request, client, by: .authorization, begin: begin)
    }

    /// Root is a user like any other: relays of containers and of virtual machines run as root.
    private func isAdmitted(_ answer: ClientOwner.Answer) -> Bool {
        guard case .user(let user) = answer else { return false }
        return user == geteuid() || proxy.configuration.consoleUsers.contains(user)
    }
}

extension ProxyError {
    static let notAdmitted = ProxyError(
        status: 403, type: "http_request_denied",
        failure: "This page is for the user that the proxy runs as, and this client is not known to be that one's "
            + "(not-admitted).",
        advice: "Ask as that user on the proxy's machine, let other users of it in with --console-users NAME, or "
            + "anybody who knows a password with --auth.",
        isRefusal: true)
}
