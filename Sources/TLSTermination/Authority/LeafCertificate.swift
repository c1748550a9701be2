public import X509

/// A certificate for one host, signed by the local CA.
public struct LeafCertificate: Sendable {
    public let host: CertificateHost
    public let certificate: Certificate
    /// The certificate in DER.
    public let der: [UInt8]
    /// The first and the last second at which it is valid, in seconds since 1970.
    public let validity: ClosedRange<Int64>
    /// The last second at which it is used without having another made.
    let renewal: Int64

    /// Whether it can be used at a time: it is valid, and not so near its end that another one should be made.
    public func isUsable(at now: Int64) -> Bool { now >= validity.lowerBound && now <= renewal }
}
