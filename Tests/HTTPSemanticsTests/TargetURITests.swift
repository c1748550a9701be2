import HTTPSemantics
import NIOCore
import ProxyTestKit
import Testing

@Suite("Target URIs")
struct TargetURITests {
    @Test("A URI in normal form shares the received bytes, and its parts are where they are")
    func parts() throws {
        let uri = try TargetURI("https://example.com:8443/a/b.png?x=1&y=/?")
        #expect(uri.description == "https://example.com:8443/a/b.png?x=1&y=/?")
        #expect(uri.scheme == .https)
        #expect(uri.schemeText == "https")
        #expect(uri.host == "example.com")
        #expect(uri.authority == "example.com:8443")
        #expect(uri.port == 8443)
        #expect(uri.hasQuery)
        #expect(uri.withBytes { text($0[uri.pathStart..<uri.pathEnd]) } == "/a/b.png")
        #expect(String(buffer: uri.rawPathAndQuery) == "/a/b.png?x=1&y=/?")
    }

    @Test("The normal form alone is that of the whole URI, and no copy where the bytes are in it")
    func normalForm() throws {
        for (text, isCopied) in [
            ("http://a.example/b?c", false), ("http://a.example/", false), ("http://a.example/b#c", true),
            ("http://a.example", true), ("HTTP://A.example:80/%61/../?%7e", true), ("http://a.example/b?c#d", true),
        ] {
            let uri = try TargetURI(text)
            let form = try Array(text.utf8).withUnsafeBytes { try TargetURI.normalForm(of: $0) }
            #expect(form.bytes ?? Array(text.utf8) == Array(uri.description.utf8), "\(text)")
            #expect(form.pathEnd == uri.pathEnd && (form.bytes != nil) == isCopied, "\(text)")
        }
        #expect(throws: TargetError.invalidByte) {
            try Array("http://a.example/ b".utf8).withUnsafeBytes { try TargetURI.normalForm(of: $0) }
        }
    }

    @Test("A URI that stands inside a larger buffer is read from its reader index")
    func slice() throws {
        for target in ["http://example.com/a?b", "HTTP://Example.com:80/%61?b"] {
            var buffer = ByteBuffer(string: "GET \(target) HTTP/1.1")
            buffer.moveReaderIndex(forwardBy: 4)
            let slice = ByteBuffer(buffer.readableBytesView.prefix(target.utf8.count))
            for received in [slice, buffer.withReader(at: 4, length: target.utf8.count)] {
                let uri = try TargetURI(absolute: received)
                #expect(uri.description == "http://example.com/a?b")
                #expect(uri.host == "example.com")
                #expect(uri.withBytes { text($0[uri.pathStart..<uri.pathEnd]) } == "/a")
                #expect(String(buffer: uri.rawPathAndQuery) == String(target.suffix(target.contains("%") ? 6 : 4)))
            }
        }
    }

    @Test(
        "Port and authority",
        arguments: [
            ("http://a/", 80, "a"), ("https://a/", 443, "a"), ("http://a:80/", 80, "a"),
            ("http://a:443/", 443, "a:443"),
            ("https://a:80/", 80, "a:80"), ("http://a:/", 80, "a"), ("http://a:0080/", 80, "a"), ("ftp://a/", 0, "a"),
            ("ftp://a:80/", 80, "a:80"), ("http://a:65535/", 65535, "a:65535"), ("http://[::1]:81/", 81, "[::1]:81"),
            ("http://u:p@a:81/", 81, "a:81"), ("assets://test.jpg", 0, "test.jpg"), ("assets:///x", 0, ""),
        ] as [(String, UInt16, String)])
    func ports(value: String, port: UInt16, authority: String) throws {
        let uri = try TargetURI(value)
        #expect(uri.port == port)
        #expect(uri.authority == authority)
    }

    @Test(
        "The root's dot behind a host is none of it",
        arguments: [
            ("http://example.com./a", "http://example.com/a"), ("http://Example.COM.:80", "http://example.com/"),
            ("https://u@example.com.:8443/a?b", "https://example.com:8443/a?b"),
            ("http://127.0.0.1./", "http://127.0.0.1/"),
            ("http://a.?q", "http://a/?q"), ("assets://test.jpg.", "assets://test.jpg/"),
        ])
    func rootDot(value: String, expected: String) throws {
        let uri = try TargetURI(value)
        #expect(uri.description == expected)
        #expect(!uri.host.hasSuffix("."))
        #expect(uri.authority == (try TargetURI(expected).authority))
    }

    @Test(
        "An address is one host, however it is written",
        arguments: [
            ("http://127.1/x", "http://127.0.0.1/x"), ("http://0177.0.0.1:8080/", "http://127.0.0.1:8080/"),
            ("http://2130706433/", "http://127.0.0.1/"), ("http://0x7f.1", "http://127.0.0.1/"),
            ("https://127.0.0.1./a", "https://127.0.0.1/a"), ("http://0X7F000001/", "http://127.0.0.1/"),
            ("http://[0:0:0:0:0:0:0:1]/x", "http://[::1]/x"), ("http://[::0001]:81/", "http://[::1]:81/"),
            ("http://[::FFFF:127.0.0.1]/", "http://[::ffff:127.0.0.1]/"),
            ("http://[::ffff:7f00:1]/", "http://[::ffff:127.0.0.1]/"),
            ("http://[2001:DB8:0:0:1:0:0:1]/", "http://[2001:db8::1:0:0:1]/"),
            // Names, one of which looks like an address.
            ("http://1e100.net/", "http://1e100.net/"), ("http://1.2.3.4.5/", "http://1.2.3.4.5/"),
            ("http://256.0.0.1/", "http://256.0.0.1/"), ("http://09.1/", "http://09.1/"),
            ("http://127.1.test/", "http://127.1.test/"), ("assets://127.1/x", "assets://127.1/x"),
        ])
    func addresses(value: String, expected: String) throws {
        let uri = try TargetURI(value)
        #expect(uri.description == expected)
        #expect(try TargetURI(expected).description == expected)
        let form = try Array(value.utf8).withUnsafeBytes { try TargetURI.normalForm(of: $0) }
        #expect(form.bytes.map { String(decoding: $0, as: UTF8.self) } ?? value == expected)
    }

    @Test(
        "What has nothing but dots at the end of its host is malformed", arguments: [".", "..", "a..", "a...", ".:80"])
    func dots(host: String) {
        for scheme in ["http", "https", "assets"] {
            #expect(throws: TargetError.invalidHost) { try TargetURI("\(scheme)://\(host)/") }
        }
    }

    @Test(
        "What an origin is sent is path and query as received, without fragment",
        arguments: [
            ("http://a", "/"), ("http://a/", "/"), ("http://a?q", "/?q"), ("http://a?", "/?"), ("http://a#f", "/"),
            ("http://a/%7e/../b?%7e#f", "/%7e/../b?%7e"), ("http://a//b", "//b"), ("http://a/?", "/?"),
            ("http://u@a:80/x", "/x"), ("http://a/%zz\\", "/%zz\\"), ("http://a/\u{e9}", "/\u{e9}"),
        ])
    func raw(value: String, expected: String) throws {
        #expect(String(buffer: try TargetURI(value).rawPathAndQuery) == expected)
    }

    @Test(
        "Bytes that name nothing, or different things to different parsers, are refused",
        arguments: [
            ("", .empty), ("/", .notAbsolute), ("/path", .notAbsolute), ("example.com", .invalidScheme.orNotAbsolute),
            ("http:", .notAbsolute), ("http:/a", .notAbsolute), ("http:a/b", .notAbsolute), ("://a/", .notAbsolute),
            ("1http://a/", .notAbsolute), ("ht tp://a/", .invalidScheme), ("ht_tp://a/", .invalidScheme),
            ("http://", .notAbsolute.orInvalidHost), ("http:///x", .invalidHost), ("http://?q", .invalidHost),
            ("http://:80/", .invalidHost), ("http://@/", .invalidHost), ("http://u@/", .invalidHost),
            ("http://good@evil@a/", .invalidAuthority), ("http://a b/", .invalidByte), ("http://a\\@b/", .invalidByte),
            ("http://a\\b/", .invalidByte), ("http://a%2eb/", .invalidHost), ("http://%61/", .invalidHost),
            ("http://a,b/", .invalidHost), ("http://a;b/", .invalidHost), ("http://a\"b/", .invalidHost),
            ("http://*.a/", .invalidHost), ("http://\u{e9}.example/", .invalidByte),
            ("http://\u{FF41}.example/", .invalidByte), ("http://a\0b/", .invalidByte),
            ("http://a\u{7f}/", .invalidByte),
            ("http://a:x/", .invalidPort), ("http://a:0/", .invalidPort), ("http://a:65536/", .invalidPort),
            ("http://a:-1/", .invalidPort), ("http://a:+80/", .invalidPort), ("http://a:80:80/", .invalidPort),
            ("http://a:99999999999999999999/", .invalidPort), ("http://a:000080/", .invalidPort),
            ("http://[::1/", .invalidHost), ("http://::1/", .invalidHost), ("http://[]/", .invalidHost),
            ("http://[::1]x/", .invalidPort), ("http://[::1%25eth0]/", .invalidHost),
            ("http://[1.2.3.4]/", .invalidHost),
            ("http://[:::]/", .invalidHost), ("http://[g::]/", .invalidHost), ("http://[v1.x]/", .invalidHost),
            ("http://a/ b", .invalidByte), ("http://a/\r\nX: y", .invalidByte), ("http://a/\0", .invalidByte),
            ("http://a/\t", .invalidByte), ("http://a/?\u{7f}", .invalidByte), ("http://a/?a b", .invalidByte),
        ] as [(String, Refusal)])
    func refused(value: String, expected: Refusal) {
        do throws(TargetError) {
            let uri = try TargetURI(value)
            Issue.record("\(uri.description) was accepted")
        } catch {
            #expect(expected.errors.contains(error))
        }
    }

    @Test("Messages name the fault")
    func messages() {
        let all: [TargetError] = [
            .empty, .tooLong, .invalidScheme, .invalidAuthority, .invalidHost, .invalidPort, .invalidByte, .notAbsolute,
        ]
        #expect(Set(all.map(\.description)).count == all.count)
    }

    @Test("More than a mebibyte is refused without a look at it")
    func tooLong() {
        #expect(throws: TargetError.tooLong) {
            try TargetURI("http://a/" + String(repeating: "a", count: 1 << 20))
        }
    }

    @Test("A request in origin-form and its authority make a target URI")
    func fromOriginForm() throws {
        let uri = try withBytes("/a/../b?c") {
            try TargetURI(scheme: "https", authority: Array("Example.com:443".utf8), pathAndQuery: $0)
        }
        #expect(uri.description == "https://example.com/b?c")
        #expect(String(buffer: uri.rawPathAndQuery) == "/a/../b?c")
    }

    @Test("Any bytes are refused or give a URI whose parts are inside it")
    func randomBytes() {
        var generator = SeededGenerator(seed: 11)
        let alphabet = Array("http://a.B[:1]@%2eE5c/..\\?#*~\u{e9} \0".utf8)
        for _ in 0..<20_000 {
            let length = Int.random(in: 0...24, using: &generator)
            let tail = (0..<length).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] }
            guard let uri = try? TargetURI(absolute: ByteBuffer(bytes: Array("http://".utf8) + tail)) else { continue }
            let count = uri.bytes.readableBytes
            #expect(uri.hostRange.upperBound <= uri.pathStart && uri.pathStart < uri.pathEnd && uri.pathEnd <= count)
            uri.withBytes { bytes in
                #expect(bytes[uri.pathStart] == UInt8(ascii: "/"))
                #expect(uri.pathEnd == count || bytes[uri.pathEnd] == UInt8(ascii: "?"))
                #expect(bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x5c && $0 != UInt8(ascii: "#") })
                let path = text(bytes[uri.pathStart..<uri.pathEnd])
                #expect(!path.split(separator: "/").contains { $0 == "." || $0 == ".." })
            }
        }
    }
}

/// The errors that a refusal may have, where several describe it.
struct Refusal: Sendable {
    var errors: [TargetError]

    static let empty = Refusal(errors: [.empty])
    static let notAbsolute = Refusal(errors: [.notAbsolute])
    static let invalidScheme = Refusal(errors: [.invalidScheme])
    static let invalidAuthority = Refusal(errors: [.invalidAuthority])
    static let invalidHost = Refusal(errors: [.invalidHost])
    static let invalidPort = Refusal(errors: [.invalidPort])
    static let invalidByte = Refusal(errors: [.invalidByte])

    var orNotAbsolute: Refusal { Refusal(errors: errors + [.notAbsolute]) }
    var orInvalidHost: Refusal { Refusal(errors: errors + [.invalidHost]) }
}

extension ByteBuffer {
    /// The same bytes as a buffer whose reader index is not 0.
    fileprivate func withReader(at index: Int, length: Int) -> ByteBuffer {
        var copy = self
        copy.moveReaderIndex(to: index)
        copy.moveWriterIndex(to: index + length)
        return copy
    }
}
