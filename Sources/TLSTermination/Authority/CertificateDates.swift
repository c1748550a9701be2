// swift-certificates takes and gives dates as Foundation's Date; nothing else of Foundation is used, and only here.
import FoundationEssentials
import X509

extension Certificate {
    /// The first second of the validity, in seconds since 1970.
    var notBeforeSeconds: Int64 { Int64(clamping: notValidBefore) }

    /// The last second of the validity, in seconds since 1970.
    var notAfterSeconds: Int64 { Int64(clamping: notValidAfter) }

    /// Makes a certificate of version 3 and signs it.
    ///
    /// - Parameter validity: the first and the last second, in seconds since 1970; both belong to it (RFC 5280
    ///   §4.1.2.5).
    /// - Throws: what swift-certificates says of extensions that can't be encoded, or a key that can't sign.
    init(
        serialNumber: SerialNumber, publicKey: PublicKey, validity: ClosedRange<Int64>, issuer: DistinguishedName,
        subject: DistinguishedName, extensions: Extensions, issuerKey: PrivateKey
    ) throws {
        try self.init(
            version: .v3, serialNumber: serialNumber, publicKey: publicKey,
            notValidBefore: Date(timeIntervalSince1970: Double(validity.lowerBound)),
            notValidAfter: Date(timeIntervalSince1970: Double(validity.upperBound)),
            issuer: issuer, subject: subject, extensions: extensions, issuerPrivateKey: issuerKey)
    }
}

extension Int64 {
    fileprivate init(clamping date: Date) {
        // A year of four digits is the most that a certificate can hold, so the bound is never met.
        self = Int64(exactly: date.timeIntervalSince1970.rounded()) ?? .max
    }
}
