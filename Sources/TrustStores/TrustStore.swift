public import TLSTermination

/// A place that says which certificates programs trust.
public protocol TrustStore: Sendable {
    /// Whose it is: `system`, `Chromium`, `Firefox`.
    var owner: String { get }
    /// The folder or file.
    var path: String { get }

    /// Whether it holds the certificate as one to trust.
    func state(of certificate: AuthorityCertificate) -> TrustState
    /// Puts the certificate in, if it is not there.
    func install(_ certificate: AuthorityCertificate) -> TrustChange
    /// Takes the certificate out, and no other.
    func uninstall(_ certificate: AuthorityCertificate) -> TrustChange
}

/// Whether a trust store holds a certificate as one to trust.
public enum TrustState: Sendable, Equatable {
    case trusted
    /// It is not there, or not as one to trust.
    case absent
    /// The store could not be asked: why, and what to do.
    case unknown(TrustProblem)
}

/// The result of an attempt to change a trust store.
public enum TrustChange: Sendable, Equatable {
    /// It was changed.
    case done
    /// It was already as wanted.
    case unchanged
    /// It was not changed: why, and what to do.
    case failed(TrustProblem)
}

/// Why a trust store could not be asked or changed.
public struct TrustProblem: Sendable, Equatable {
    /// What is wrong.
    public var reason: String
    /// What to do, as a command or a clause; empty where nothing is known.
    public var advice: String

    init(_ reason: String, advice: String = "") {
        self.reason = reason
        self.advice = advice
    }
}
