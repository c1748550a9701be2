import Crypto
import SwiftASN1

/// Writes certificates as a store of Java's first form, JKS, which every Java reads.
///
/// Big-endian: a magic number, the version 2, the number of entries; for each the tag of a trusted certificate, an
/// alias, a date, the type and the certificate in DER; then a hash over all of it, keyed by a password that everybody
/// knows.
enum JavaKeyStore {
    static let password = "changeit"

    static func render(_ bundle: CertificateBundle) -> [UInt8] {
        let certificates = bundle.bodies.compactMap(der)
        var bytes: [UInt8] = [0xfe, 0xed, 0xfe, 0xed]
        append(UInt32(2), to: &bytes)
        append(UInt32(clamping: certificates.count), to: &bytes)
        for (index, certificate) in certificates.enumerated() {
            append(UInt32(2), to: &bytes)
            append("subproxy-\(index)", to: &bytes)
            append(UInt64(0), to: &bytes)
            append("X.509", to: &bytes)
            append(UInt32(clamping: certificate.count), to: &bytes)
            bytes += certificate
        }
        let key = password.utf8.flatMap { [0, $0] } + Array("Mighty Aphrodite".utf8)
        return bytes + Array(Insecure.SHA1.hash(data: key + bytes))
    }

    private static func der(_ body: [UInt8]) -> [UInt8]? {
        let text = CertificateBundle.pem(of: body)
        return try? PEMDocument(pemString: String(decoding: text, as: UTF8.self)).derBytes
    }

    /// A text of less than 64 KiB, behind its length.
    private static func append(_ text: String, to bytes: inout [UInt8]) {
        append(UInt16(clamping: text.utf8.count), to: &bytes)
        bytes += text.utf8
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
    }
}
