import Testing

@testable import TLSTermination

@Suite("The hosts that certificates are made for")
struct CertificateHostTests {
    static let longest =
        ["a", "b", "c"].map { String(repeating: $0, count: 63) }.joined(separator: ".")
        + "." + String(repeating: "d", count: 61)

    @Test(
        "A host has one spelling",
        arguments: [
            ("a.test", "a.test"), ("A.Test", "a.test"), ("a.test.", "a.test"), ("localhost", "localhost"),
            ("_dmarc.a_b.test", "_dmarc.a_b.test"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("r1---sn-4g5.test", "r1---sn-4g5.test"), ("0x7f.test", "0x7f.test"), ("1.2.3.test", "1.2.3.test"),
            (longest, longest), (longest + ".", longest),
            ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("[::1]", "::1"),
            ("2001:DB8:0:0::0:1", "2001:db8::1"), ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        ])
    func spelling(host: String, expected: String) throws {
        #expect(try CertificateHost(host).text == expected)
    }

    @Test(
        "An address is told from a name",
        arguments: [("a.test", 0), ("10.0.0.1", 4), ("fe80::1", 16), ("[fe80::1]", 16), ("1.2.3.4.test", 0)])
    func addresses(host: String, count: Int) throws {
        #expect(try CertificateHost(host).address.count == count)
        #expect(try CertificateHost(host).isAddress == (count > 0))
    }

    @Test("Two spellings of one address are one host")
    func equality() throws {
        #expect(try CertificateHost("[2001:db8::1]") == CertificateHost("2001:0DB8:0::1"))
        #expect(try CertificateHost("1.2.3.4") != CertificateHost("::ffff:1.2.3.4"))
    }

    @Test(
        "What is no host is refused, with the reason",
        arguments: [
            ("", .empty), (".", .empty), ("..", .emptyLabel), (".a.test", .emptyLabel), ("a..test", .emptyLabel),
            ("a.test..", .emptyLabel), ("*", .wildcard), ("*.a.test", .wildcard), ("a*.test", .wildcard),
            ("a.test,DNS:evil.test", .malformedAddress), ("a.test,b.test", .forbiddenByte(0x2c)),
            ("a.test\nDNS.2=evil.test", .forbiddenByte(0x0a)), ("a.test\r", .forbiddenByte(0x0d)),
            ("a.test\0evil", .forbiddenByte(0)), ("a\"b.test", .forbiddenByte(0x22)),
            ("a b.test", .forbiddenByte(0x20)),
            ("a/b.test", .forbiddenByte(0x2f)), ("a\\.test", .forbiddenByte(0x5c)), ("a%2e.test", .forbiddenByte(0x25)),
            ("a@b.test", .forbiddenByte(0x40)), ("<b>.test", .forbiddenByte(0x3c)),
            ("b\u{fc}.test", .forbiddenByte(0xc3)),
            ("\u{212a}.test", .forbiddenByte(0xe2)), ("a\u{ff0e}test", .forbiddenByte(0xef)),
            ("-a.test", .hyphenAtEdge), ("a-.test", .hyphenAtEdge), ("a.test-", .hyphenAtEdge),
            (String(repeating: "a", count: 64) + ".test", .longLabel), (longest + "e", .tooLong),
            (String(repeating: "a.", count: 127) + "a", .tooLong), (String(repeating: "a", count: 300), .tooLong),
            ("2130706433", .endsInNumber), ("0x7f000001", .endsInNumber), ("127.1", .endsInNumber),
            ("0177.0.0.1", .endsInNumber), ("1.2.3.4.", .endsInNumber), ("a.123", .endsInNumber),
            ("a.0x", .endsInNumber),
            ("1.2.3.256", .endsInNumber), ("::1%eth0", .malformedAddress), ("[::1", .malformedAddress),
            ("[a.test]", .malformedAddress), ("[1.2.3.4]", .malformedAddress), ("[]", .malformedAddress),
            (":", .malformedAddress), ("1::2::3", .malformedAddress), ("a.test:443", .malformedAddress),
            ("::1\0", .malformedAddress),
        ] as [(String, CertificateHostRefusal)])
    func refusals(host: String, reason: CertificateHostRefusal) {
        #expect(throws: reason) { try CertificateHost(host) }
        #expect(!reason.description.isEmpty)
    }

    @Test(
        "Of single bytes inside a label only letters, digits, hyphen and underscore are taken, and the dot between two")
    func bytes() {
        let taken = (UInt8.min...UInt8.max).filter { (try? CertificateHost([0x61, $0, 0x61])) != nil }
        #expect(taken == Array("-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8))
    }
}
