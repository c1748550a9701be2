import HTTPSemantics
import Testing

@Suite("Texts of IP addresses")
struct IPAddressTextTests {
    @Test(
        "IPv6",
        arguments: [
            ("::", true), ("::1", true), ("2001:DB8::a", true), ("::ffff:192.0.2.1", true), ("1:2:3:4:5:6:7:8", true),
            ("", false), (":", false), ("1", false), ("1.2.3.4", false), ("[::1]", false), ("::1%eth0", false),
            ("1:2:3:4:5:6:7:8:9", false), ("::1::", false), ("12345::", false), ("::1 ", false), ("::1\0", false),
            ("0000:0000:0000:0000:0000:ffff:192.168.100.2280", false),
        ])
    func version6(value: String, expected: Bool) {
        #expect(withBytes(value) { IPAddressText.isIPv6($0) } == expected)
    }

    @Test(
        "IPv4 is four decimal numbers, nothing that resolvers take for it",
        arguments: [
            ("127.0.0.1", true), ("255.255.255.255", true), ("127.1", false), ("2130706433", false),
            ("0177.0.0.1", false),
            ("0x7f.0.0.1", false), ("256.0.0.1", false), ("1.2.3.4.", false), ("1.2.3.4.5", false), ("", false),
            ("1.2.3", false), ("::1", false), ("1.2.3.4\0", false),
        ])
    func version4(value: String, expected: Bool) {
        #expect(withBytes(value) { IPAddressText.isIPv4($0) } == expected)
    }
}
