import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Substitution
import Synchronization
import TLSTermination

/// The certificate authority and its certificates, shared by all event loops; opened when first needed.
final class SecureTunnels: Sendable {
    private enum State {
        case unopened
        case ready(CertificateAuthority, LeafCache)
        case failed(String)
    }

    typealias Opened = (certificateAuthority: CertificateAuthority, leaves: LeafCache)

    private let folder: String?
    private let pool: NIOThreadPool
    private let logger: Logger
    private let state = Mutex(State.unopened)
    /// Held while the files are read or made, so that event loops never wait for that.
    private let opening = Mutex(())
    /// Who waits for the authority while a thread opens it; nil while none does.
    private let waiting = Mutex<[EventLoopPromise<Opened>]?>(nil)
    /// What has been warned of: hosts whose TLS clients have broken off, hosts for which nothing can be signed, and
    /// reasons why TLS with a listener has failed.
    private let distrusting = Mutex(Set<String>())
    private let unsigned = Mutex(Set<String>())
    private let listenersFailures = Mutex(Set<String>())

    /// - Parameter folder: where the authority is kept; nil takes the default.
    init(folder: String?, pool: NIOThreadPool, logger: Logger) {
        self.folder = folder
        self.pool = pool
        self.logger = logger
    }

    /// The TLS context of a host.
    ///
    /// - Returns: a future that fails with a ``ProxyError`` where no certificate can be made for the host, or the
    ///   authority can't be used.
    func context(for host: String, on loop: any EventLoop) -> EventLoopFuture<NIOSSLContext> {
        let name: CertificateHost
        do {
            name = try CertificateHost(host)
        } catch {
            return loop.makeFailedFuture(ProxyError.badRequest("No certificate can be made for this host: \(error)."))
        }
        if case .ready(_, let leaves) = state.withLock({ $0 }) {
            return loop.makeCompletedFuture { try self.context(leaves, name) }
        }
        return opened(on: loop).flatMapThrowing { try self.context($0.leaves, name) }
    }

    /// The context from the certificates that were made, or one more. Why none can be is logged once for each host: few
    /// clients show what comes with a CONNECT that is refused.
    private func context(_ leaves: LeafCache, _ name: CertificateHost) throws -> NIOSSLContext {
        do {
            return try leaves.context(for: name)
        } catch {
            if isFirst(name.text, in: unsigned) { logger.warning("\(name.text) can't be decrypted: \(error)") }
            throw ProxyError.authority("\(error)")
        }
    }

    /// The authority's certificate, for those who want to trust it.
    func certificateAuthority(on loop: any EventLoop) -> EventLoopFuture<CertificateAuthority> {
        opened(on: loop).map(\.certificateAuthority)
    }

    /// The authority, which one thread opens for all who ask meanwhile: if each of them took a thread, none would be
    /// left for mapped files while the disk is slow.
    private func opened(on loop: any EventLoop) -> EventLoopFuture<Opened> {
        let promise = loop.makePromise(of: Opened.self)
        let isFirst = waiting.withLock { waiting in
            guard waiting == nil else {
                waiting?.append(promise)
                return false
            }
            waiting = [promise]
            return true
        }
        guard isFirst else { return promise.futureResult }
        pool.submit { _ in
            let result = Result { try self.open() }
            for promise in self.waiting.withLock({ $0.take() }) ?? [] { promise.completeWith(result) }
        }
        return promise.futureResult
    }

    /// Opens the authority; blocks. A failure is logged once, and the next call tries again.
    ///
    /// - Throws: ``ProxyError`` where the authority can't be opened.
    @discardableResult
    func open() throws -> Opened {
        try opening.withLock { _ in
            let earlier = state.withLock { $0 }
            if case .ready(let certificateAuthority, let leaves) = earlier { return (certificateAuthority, leaves) }
            do {
                let certificateAuthority = try CertificateAuthority.open(
                    in: try AuthorityFolder.path(given: folder))
                let leaves = try LeafCache(issuer: LeafIssuer(certificateAuthority: certificateAuthority))
                state.withLock { $0 = .ready(certificateAuthority, leaves) }
                return (certificateAuthority, leaves)
            } catch {
                let text = "\(error)"
                var isNew = true
                if case .failed(text) = earlier { isNew = false }
                if isNew { logger.error("https hosts of the map can't be decrypted: \(text)") }
                state.withLock { $0 = .failed(text) }
                throw ProxyError.authority(text)
            }
        }
    }

    /// Opens the authority if there is one, so that its faults are logged at the start; makes none.
    func openExisting() {
        guard let path = try? AuthorityFolder.path(given: folder) else { return }
        do {
            guard try CertificateAuthority.existing(in: path) != nil else { return }
        } catch {
            // `open` logs why it fails.
        }
        _ = try? open()
    }

    /// Warns, once for each reason, that a client has not come through TLS with a listener of the proxy itself; not
    /// where the proxy has ended it.
    func listenersHandshakeFailed(_ failure: HandshakeFailure) {
        guard !failure.isOfProxy, isFirst(failure.phrase, in: listenersFailures) else { return }
        let hint =
            failure == .notTLS
            ? "; the client has to write https:// before the proxy's address"
            : failure.isDistrust ? "; if it does not trust the listener's certificate, have it trust that" : ""
        logger.warning("a client has broken off TLS with an https listener: \(failure.phrase)\(hint)")
    }

    private func isFirst(_ text: String, in seen: borrowing Mutex<Set<String>>) -> Bool {
        seen.withLock { $0.count < 1000 ? $0.insert(text).inserted : false }
    }

    /// What to do where a client does not trust the authority; empty where no folder is known.
    ///
    /// A folder that systemd made for the service is closed to the commands of users, and to those of root.
    static func hint(
        given folder: String?, variable: (String) -> String? = AuthorityFolder.environmentVariable
    ) -> String {
        let beginning = "; if it does not trust the certificate authority, "
        if folder == nil, let state = variable("STATE_DIRECTORY"), !state.isEmpty {
            return beginning + "give it the certificate, /ca.pem of the proxy's own pages"
        }
        guard let path = try? AuthorityFolder.path(given: folder, variable: variable) else { return "" }
        return beginning + "\(AuthorityFolder.command("ca install", on: path, variable: variable)) makes it, and "
            + "\(AuthorityFolder.command("ca doctor", on: path, variable: variable)) says what else there is to do"
    }

    /// Warns, once for each host, that a handshake with a client has failed; not where the proxy has ended it.
    func handshakeFailed(host: String, _ failure: HandshakeFailure) {
        guard !failure.isOfProxy, isFirst(host, in: distrusting) else { return }
        let hint = failure.isDistrust ? SecureTunnels.hint(given: folder) : ""
        logger.warning("a client has broken off TLS with \(host): \(failure.phrase)\(hint)")
    }
}

extension ProxyError {
    static func authority(_ why: String) -> ProxyError {
        ProxyError(
            status: 500, type: "proxy_internal_error",
            failure: "The map has rules for this https host, and the certificate authority can't be used: \(why).",
            advice: "Mend what the message names, or take the host's https rules out of the map.")
    }

    static func wrongAuthority(_ expected: String) -> ProxyError {
        ProxyError(
            status: 421, type: "http_request_denied",
            failure: "The request is for another host than \(expected), which this tunnel was opened for.",
            advice: "Open a tunnel for the other host.", isRefusal: true)
    }
}

/// Which tunnels the map in force allows, and which of them are decrypted.
struct TunnelPolicy: Sendable {
    /// The ports that the map's keys name, and those of https that its rules forward to; CONNECT may name them too.
    let namedPorts: Set<UInt16>
    /// The hosts whose tunnels are decrypted.
    let intercepted: InterceptedHosts

    init(_ map: SubstitutionMap, _ configuration: ProxyConfiguration = ProxyConfiguration()) {
        namedPorts = map.forwardedPorts.union(map.namedHosts().compactMap(\.port))
        intercepted = InterceptedHosts(map, also: configuration.decrypted, without: configuration.tunnelled)
    }
}
