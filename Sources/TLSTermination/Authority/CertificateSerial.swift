import X509

/// Makes serial numbers: positive, 16 bytes, 126 of their bits random (RFC 5280 §4.1.2.2 allows 20 bytes).
enum CertificateSerial {
    static func make(_ random: RandomBytes) -> Certificate.SerialNumber {
        var bytes = random.bytes(16)
        // A fixed length and no sign bit: the first two bits are 01.
        if let first = bytes.first { bytes[0] = first & 0x3f | 0x40 }
        return Certificate.SerialNumber(bytes: bytes)
    }
}
