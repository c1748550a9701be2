import Authentication
import Basics
import Crypto
import HTTPSemantics
import NIOCore
import NIOPosix
import Synchronization

/// Decides whose requests are served, where clients need credentials (`--auth`).
///
/// Credentials are checked on threads of their own, since bcrypt is slow on purpose. Right ones are remembered as a
/// keyed hash until the file of passwords changes; to recognise them takes a microsecond.
final class AccessControl: Sendable {
    /// Credentials that have to be checked with bcrypt.
    struct Attempt: Sendable {
        fileprivate let fingerprint: HMAC<SHA256>.MAC
        fileprivate let credentials: BasicCredentials
    }

    /// What is known of a request without a check.
    enum Verdict {
        case known, missing
        case unknown(Attempt)
    }

    /// How the metrics classify requests by their credentials.
    enum Result: String, CaseIterable {
        /// Right, and remembered from an earlier check.
        case known
        /// Found right by a check.
        case verified
        case failed
        /// The request has none, or they can't be read.
        case missing
        /// Not checked: the client has to wait after failures, or too many others wait.
        case delayed
    }

    /// The result of a check.
    enum Outcome {
        case right, wrong
        /// The credentials were not checked, because others of the same client failed meanwhile.
        case refused(ProxyError)
    }

    /// Receives the result of a check, on any thread.
    typealias Completion = @Sendable (Outcome) -> Void

    /// A request that waits for the check of its credentials.
    private struct Waiter: Sendable {
        let attempt: Attempt
        let completion: Completion
    }

    private struct State {
        /// The passwords that `verified` was checked against.
        var list: PasswordList
        var verified: Set<HMAC<SHA256>.MAC> = []
        var checks = CredentialChecks<HMAC<SHA256>.MAC, Waiter>()
        var counts: [Result: Int] = [:]
    }

    /// How many right credentials are remembered.
    private static let capacity = 4096

    private let passwords: Passwords
    private let state: Mutex<State>
    private let key = SymmetricKey(size: .bits256)
    private let pool = NIOThreadPool(numberOfThreads: 2)
    private let clock: @Sendable () -> UInt64

    /// - Parameter clock: nanoseconds of the monotonic clock.
    init(_ passwords: Passwords, clock: @escaping @Sendable () -> UInt64 = { monotonicNanoseconds() }) {
        self.passwords = passwords
        self.clock = clock
        state = Mutex(State(list: passwords.list))
        pool.start()
    }

    /// Ends the threads; checks that have not run find no credentials right.
    func shutdown() { try? pool.syncShutdownGracefully() }

    /// Begins the exchange of a request whose credentials are right, and answers any other with an error.
    ///
    /// - Parameters:
    ///   - field: where the credentials are: Proxy-Authorization for the proxy, Authorization for its own pages.
    ///   - begin: begins the exchange, at once or after a check; the request it is given has the time of that moment.
    func admit(
        _ request: Request, _ client: any ExchangeClient, by field: FieldName,
        begin: @escaping (Request) -> (any Exchange)?
    ) -> (any Exchange)? {
        switch judge(request.head.fields, field) {
        case .known: return begin(request)
        case .missing:
            client.fail(.credentialsNeeded(field))
            return nil
        case .unknown(let attempt):
            let exchange = AdmissionExchange(request, client)
            let loop = client.loop
            let admission = NIOLoopBound((exchange, request, begin), eventLoop: loop.eventLoop)
            let refusal = check(attempt, by: client.address) { outcome in
                loop.eventLoop.execute {
                    let (exchange, request, begin) = admission.value
                    loop.batch {
                        switch outcome {
                        case .right: exchange.admit { begin(request.admitted(at: monotonicNanoseconds())) }
                        case .wrong: exchange.refuse(.credentialsWrong(field))
                        case .refused(let error): exchange.refuse(error)
                        }
                    }
                }
            }
            guard let refusal else { return exchange }
            client.fail(refusal)
            return nil
        }
    }

    /// Judges a request's credentials without a check.
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
        // Hashed are the decoded name and password (neither has a NUL), since base64 can write the same ones in several
        // ways; and only the bytes that bcrypt looks at, since any others can follow them. Otherwise one password would
        // make any number of credentials that are right and unknown.
        let fingerprint = HMAC<SHA256>.authenticationCode(
            for: credentials.name + [0] + credentials.password.prefix(PasswordHash.significantBytes), using: key)
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

    /// Checks credentials on another thread. Requests with the same credentials that come meanwhile share the check.
    ///
    /// - Parameter address: the client's.
    /// - Returns: an error if the credentials will not be checked; then `completion` is not called.
    func check(_ attempt: Attempt, by address: String, completion: @escaping Completion) -> ProxyError? {
        let now = clock()
        let waiter = Waiter(attempt: attempt, completion: completion)
        switch state.withLock({ place(waiter, of: FailedAttempts.Client(address), now: now, &$0) }) {
        case .begins: begin(attempt)
        case .waits: break
        case .refused(let error): return error
        }
        return nil
    }

    private enum Placement {
        case begins, waits
        case refused(ProxyError)
    }

    private func place(
        _ waiter: Waiter, of client: FailedAttempts.Client, now: UInt64, _ state: inout State
    ) -> Placement {
        let attempt = waiter.attempt
        let name = FailedAttempts.Name(attempt.credentials.name)
        switch state.checks.add(waiter, of: client, name: name, key: attempt.fingerprint, now: now) {
        case .begins: return .begins
        case .waits: return .waits
        case .mustWait(let nanoseconds):
            state.counts[.delayed, default: 0] &+= 1
            return .refused(.tooManyFailures(seconds: Int(clamping: nanoseconds / 1_000_000_000) &+ 1))
        case .tooMany:
            state.counts[.delayed, default: 0] &+= 1
            return .refused(.tooManyChecks)
        }
    }

    private func begin(_ attempt: Attempt) {
        pool.submit { [self] poolState in
            let list = passwords.list
            // A check that was cancelled because the threads end says nothing about the client.
            let isRight =
                poolState == .active ? list.accepts(attempt.credentials.name, attempt.credentials.password) : nil
            finish(attempt, isRight, by: list)
        }
    }

    private func finish(_ attempt: Attempt, _ isRight: Bool?, by list: PasswordList) {
        let now = clock()
        let (told, next) = state.withLock { state in
            let (done, postponed) = state.checks.finish(attempt.fingerprint, isRight: isRight, now: now)
            state.counts[isRight == true ? .verified : .failed, default: 0] &+= done.count
            if isRight == true, state.list === list {
                if state.verified.count >= AccessControl.capacity { _ = state.verified.popFirst() }
                state.verified.insert(attempt.fingerprint)
            }
            var told: [(Waiter, Outcome)] = done.map { ($0, isRight == true ? .right : .wrong) }
            var next: [Attempt] = []
            for (client, waiter) in postponed {
                if state.verified.contains(waiter.attempt.fingerprint) {
                    state.counts[.known, default: 0] &+= 1
                    told.append((waiter, .right))
                    continue
                }
                switch place(waiter, of: client, now: now, &state) {
                case .begins: next.append(waiter.attempt)
                case .waits: break
                case .refused(let error): told.append((waiter, .refused(error)))
                }
            }
            return (told, next)
        }
        for attempt in next { begin(attempt) }
        for (waiter, outcome) in told { waiter.completion(outcome) }
    }

    private func count(_ result: Result) { state.withLock { $0.counts[result, default: 0] &+= 1 } }

    func writeMetrics(to writer: inout MetricsWriter) {
        let name: StaticString = "subproxy_authentications_total"
        writer.family(name, .counter, "Requests that needed credentials, by result.")
        let counts = state.withLock(\.counts)
        for result in Result.allCases { writer.sample(name, [("result", result.rawValue)], counts[result] ?? 0) }
    }
}

extension ProxyError {
    /// Asks for credentials: 407 for proxying, 401 for the proxy's own pages (RFC 9110 §15.5.2, §15.5.8).
    static func credentialsNeeded(_ field: FieldName) -> ProxyError {
        let isForProxying = field == .proxyAuthorization
        return ProxyError(
            status: isForProxying ? 407 : 401, type: "http_request_denied",
            failure: "\(isForProxying ? "This proxy" : "This page of the proxy") needs a user name and a password.",
            advice: "Give them to the client, as in curl \(isForProxying ? "--proxy-user" : "--user") NAME.",
            isRefusal: true)
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
