import Crypto
import HTTPSemantics
import NIOCore
import NIOPosix
import Synchronization

/// Decides whose requests are served, where clients need credentials (`--auth`).
///
/// Credentials are checked with bcrypt on threads of their own, since that is meant to be slow. Those that were right are
/// known again by a keyed hash, which takes a microsecond, until the file of passwords changes.
final class AccessControl: Sendable {
    /// Credentials whose check takes time.
    struct Attempt: Sendable {
        fileprivate let fingerprint: HMAC<SHA256>.MAC
        fileprivate let credentials: BasicCredentials
    }

    /// What is known of a request without a check.
    enum Verdict {
        case known, missing
        case unknown(Attempt)
    }

    /// What the metrics tell of requests' credentials.
    enum Result: String, CaseIterable {
        /// Right, and known from an earlier check.
        case known
        /// Found right by a check.
        case verified
        case failed
        /// None were given, or such as can't be read.
        case missing
        /// Not checked: the client has to wait after failures, or too many others wait.
        case delayed
    }

    /// Told on any thread whether the credentials were right.
    typealias Completion = @Sendable (_ isRight: Bool) -> Void

    private struct State {
        /// The passwords that `verified` is about.
        var list: PasswordList
        var verified: Set<HMAC<SHA256>.MAC> = []
        var checks: [HMAC<SHA256>.MAC: [(client: FailedAttempts.Client, completion: Completion)]] = [:]
        var failures = FailedAttempts()
        var counts: [Result: Int] = [:]
    }

    /// Credentials that are remembered as right.
    private static let capacity = 4096
    /// Checks under way and waiting; more are refused.
    private static let checksLimit = 64

    private let passwords: Passwords
    private let state: Mutex<State>
    private let key = SymmetricKey(size: .bits256)
    private let pool = NIOThreadPool(numberOfThreads: 2)

    init(_ passwords: Passwords) {
        self.passwords = passwords
        state = Mutex(State(list: passwords.list))
        pool.start()
    }

    /// Ends the threads; checks that are left find nobody right.
    func shutdown() { try? pool.syncShutdownGracefully() }

    /// Lets a request in whose credentials are right; any other is answered here.
    ///
    /// - Parameters:
    ///   - field: where the credentials are: Proxy-Authorization for the proxy, Authorization for its own pages.
    ///   - begin: begins the exchange, now or when a check is done.
    func admit(
        _ request: Request, _ client: any ExchangeClient, by field: FieldName,
        begin: @escaping () -> (any Exchange)?
    ) -> (any Exchange)? {
        switch judge(request.head.fields, field) {
        case .known: return begin()
        case .missing:
            client.fail(.credentialsNeeded(field))
            return nil
        case .unknown(let attempt):
            let exchange = AdmissionExchange(client, hasBody: request.hasBody)
            let loop = client.loop
            let admission = NIOLoopBound((exchange: exchange, begin: begin), eventLoop: loop.eventLoop)
            let refusal = check(attempt, by: client.address, now: request.receivedAt) { isRight in
                loop.eventLoop.execute {
                    let (exchange, begin) = admission.value
                    loop.batch { isRight ? exchange.admit(begin) : exchange.refuse(.credentialsWrong(field)) }
                }
            }
            guard let refusal else { return exchange }
            client.fail(refusal)
            return nil
        }
    }

    /// What can be said of a request's credentials at once.
    func judge(_ fields: FieldSection, _ field: FieldName) -> Verdict {
        let found = fields.count(of: field) == 1 ? fields.withFirst(field) { find($0) } : nil
        guard let verdict = found else {
            count(.missing)
            return .missing
        }
        return verdict
    }

    private func find(_ value: UnsafeRawBufferPointer) -> Verdict {
        guard value.count <= BasicCredentials.limit else {
            count(.missing)
            return .missing
        }
        guard let credentials = BasicCredentials(value) else {
            count(.missing)
            return .missing
        }
        // Of what was meant, not of the bytes: else the same could be said in many ways, each of them unknown. Neither
        // part has a NUL.
        let fingerprint = HMAC<SHA256>.authenticationCode(
            for: credentials.name + [0] + credentials.password, using: key)
        let list = passwords.list
        let isKnown = state.withLock { state in
            if state.list !== list {
                state.list = list
                state.verified.removeAll()
            }
            guard state.verified.contains(fingerprint) else { return false }
            state.counts[.known, default: 0] &+= 1
            return true
        }
        if isKnown { return .known }
        return .unknown(Attempt(fingerprint: fingerprint, credentials: credentials))
    }

    /// Checks credentials on another thread; the same ones that come meanwhile wait for the same check.
    ///
    /// - Parameters:
    ///   - address: the client's.
    ///   - now: nanoseconds of the monotonic clock.
    /// - Returns: why they are not checked; then `completion` is not called.
    func check(
        _ attempt: Attempt, by address: String, now: UInt64, completion: @escaping Completion
    ) -> ProxyError? {
        let client = FailedAttempts.Client(address)
        let (refusal, isFirst) = state.withLock { state -> (ProxyError?, Bool) in
            let wait = state.failures.wait(client, now: now)
            guard wait == 0 else {
                state.counts[.delayed, default: 0] &+= 1
                return (.tooManyFailures(seconds: Int(clamping: wait / 1_000_000_000) &+ 1), false)
            }
            if state.checks[attempt.fingerprint] != nil {
                state.checks[attempt.fingerprint]?.append((client, completion))
                return (nil, false)
            }
            guard state.checks.count < AccessControl.checksLimit else {
                state.counts[.delayed, default: 0] &+= 1
                return (.tooManyChecks, false)
            }
            state.checks[attempt.fingerprint] = [(client, completion)]
            // Now, not when it has failed: else a client could have many checked at once.
            state.failures.failed(client, now: now)
            return (nil, true)
        }
        guard isFirst else { return refusal }
        pool.submit { [self] poolState in
            let list = passwords.list
            let isRight =
                poolState == .active && list.accepts(attempt.credentials.name, attempt.credentials.password)
            finish(attempt, isRight, by: list)
        }
        return nil
    }

    private func finish(_ attempt: Attempt, _ isRight: Bool, by list: PasswordList) {
        let waiting = state.withLock { state in
            let waiting = state.checks.removeValue(forKey: attempt.fingerprint) ?? []
            state.counts[isRight ? .verified : .failed, default: 0] &+= waiting.count
            guard isRight else { return waiting }
            for (client, _) in waiting { state.failures.succeeded(client) }
            if state.list === list {
                if state.verified.count >= AccessControl.capacity { _ = state.verified.popFirst() }
                state.verified.insert(attempt.fingerprint)
            }
            return waiting
        }
        for (_, completion) in waiting { completion(isRight) }
    }

    private func count(_ result: Result) { state.withLock { $0.counts[result, default: 0] &+= 1 } }

    func writeMetrics(to writer: inout MetricsWriter) {
        let name: StaticString = "subproxy_authentications_total"
        writer.family(name, .counter, "Requests that needed credentials, by what came of them.")
        let counts = state.withLock(\.counts)
        for result in Result.allCases { writer.sample(name, [("result", result.rawValue)], counts[result] ?? 0) }
    }
}

extension ProxyError {
    /// The response that asks for credentials: 407 by the proxy, 401 by its own pages (RFC 9110 §15.5.2, §15.5.8).
    static func credentialsNeeded(_ field: FieldName) -> ProxyError {
        ProxyError(
            status: field == .proxyAuthorization ? 407 : 401, type: "http_request_denied",
            failure: "This proxy needs a user name and a password.",
            advice: "Give them to the client, as in curl --proxy-user NAME.", isRefusal: true)
    }

    static func credentialsWrong(_ field: FieldName) -> ProxyError {
        var error = credentialsNeeded(field)
        error.failure = "The user name or the password for this proxy is wrong."
        error.advice = "Correct them; after several failures this client has to wait."
        return error
    }

    static func tooManyFailures(seconds: Int) -> ProxyError {
        var error = ProxyError(
            status: 429, type: "http_request_denied",
            failure: "This client has given wrong credentials several times, and has to wait.",
            advice: "Try again in \(seconds) s.", isRefusal: true)
        error.retryAfter = seconds
        return error
    }

    static let tooManyChecks: ProxyError = {
        var error = ProxyError(
            status: 503, type: "proxy_internal_error", failure: "Too many credentials wait to be checked.",
            advice: "Try again in a second.")
        error.retryAfter = 1
        return error
    }()
}
