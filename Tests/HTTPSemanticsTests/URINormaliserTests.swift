import HTTPSemantics
import NIOCore
import ProxyTestKit
import Testing

@Suite("URI normalisation")
struct URINormaliserTests {
    @Test(
        "RFC 3986 §6.2.2 and §6.2.3",
        arguments: [
            // Case
            ("HTTP://www.EXAMPLE.com/", "http://www.example.com/"), ("http://A/Path?Query", "http://a/Path?Query"),
            ("http://a/%3a%c3%A9", "http://a/%3A%C3%A9"), ("http://[2001:DB8::A]/", "http://[2001:db8::a]/"),
            ("Assets://Test.JPG", "assets://test.jpg/"),
            // Percent-encoding
            ("http://a/%7Euser", "http://a/~user"), ("http://a/%7euser", "http://a/~user"),
            ("http://a/%61%2D%2e%5F", "http://a/a-._"), ("http://a/%2F", "http://a/%2F"),
            ("http://a/x%2fy", "http://a/x%2Fy"), ("http://a/%3F%23%25", "http://a/%3F%23%25"),
            ("http://a/%252e%252e/x", "http://a/%252e%252e/x"), ("http://a/%00", "http://a/%00"),
            ("http://a/%20", "http://a/%20"), ("http://a/?%7e%2F", "http://a/?~%2F"), ("http://a/%zz", "http://a/%zz"),
            ("http://a/%", "http://a/%"), ("http://a/%4", "http://a/%4"), ("http://a/%%41", "http://a/%%41"),
            ("http://a/%%34%31", "http://a/%%341"), ("http://a/%4%31", "http://a/%4%31"),
            ("http://a/%z%41", "http://a/%z%41"), ("http://a/%zz%41", "http://a/%zzA"),
            ("http://a/%/%2e%2e/x", "http://a/x"), ("http://a/%2%65%2e", "http://a/%2%65."),
            ("http://a/\u{e9}", "http://a/%C3%A9"), ("http://a/\\", "http://a/%5C"),
            ("http://a/..\\x", "http://a/..%5Cx"),
            ("http://a/?\u{e9}\\", "http://a/?%C3%A9%5C"), ("http://a/%C0%AE%C0%AE/", "http://a/%C0%AE%C0%AE/"),
            // Dot segments
            ("http://a/b/c/../d", "http://a/b/d"), ("http://a/./b", "http://a/b"), ("http://a/b/.", "http://a/b/"),
            ("http://a/b/..", "http://a/"), ("http://a/..", "http://a/"), ("http://a/../..", "http://a/"),
            ("http://a/../../b", "http://a/b"), ("http://a/b/c/./../../g", "http://a/g"),
            ("http://a/mid/content=5/../6", "http://a/mid/6"), ("http://a/%2e%2e/x", "http://a/x"),
            ("http://a/b/%2E%2e", "http://a/"), ("http://a/b/.%2e/c", "http://a/c"),
            ("http://a/.../b", "http://a/.../b"),
            ("http://a/..b/c", "http://a/..b/c"), ("http://a/b../c", "http://a/b../c"), ("http://a//..", "http://a/"),
            ("http://a/b//../c", "http://a/b/c"), ("http://a//b", "http://a//b"), ("http://a/b//", "http://a/b//"),
            ("http://a/..;/b", "http://a/..;/b"), ("http://a/....//b", "http://a/....//b"),
            ("http://a/?/../x", "http://a/?/../x"), ("http://a/x?%2e%2e/", "http://a/x?../"),
            ("http://a/..?q", "http://a/?q"), ("http://a/.?q", "http://a/?q"),
            ("http://a/x/..%2fy", "http://a/x/..%2Fy"),
            // Scheme-based: port, empty path, user information, fragment
            ("http://a:80/", "http://a/"), ("http://a:/", "http://a/"), ("https://a:443/", "https://a/"),
            ("http://a:443/", "http://a:443/"), ("http://a:0080/", "http://a/"), ("http://a:08080/", "http://a:8080/"),
            ("ftp://a:21/", "ftp://a/"), ("FTP://a:0021/x", "ftp://a/x"), ("ftp://a:80/", "ftp://a:80/"),
            ("ws://a:80/", "ws://a/"), ("wss://a:443/", "wss://a/"), ("wss://a:80/", "wss://a:80/"),
            ("assets://a:80/", "assets://a:80/"), ("http://[::1]:80/", "http://[::1]/"), ("http://a", "http://a/"),
            ("http://a?x", "http://a/?x"), ("http://a?", "http://a/?"), ("http://a/?", "http://a/?"),
            ("http://a#f", "http://a/"), ("http://a/b#f?g", "http://a/b"), ("http://a/b?c#d", "http://a/b?c"),
            ("http://user@a/", "http://a/"), ("http://User:Pa%20ss@A:81/", "http://a:81/"), ("http://@a/", "http://a/"),
            ("http://a/@b", "http://a/@b"), ("http://a./", "http://a/"), ("http://a/;x=1", "http://a/;x=1"),
            ("http://127.0.0.1/", "http://127.0.0.1/"), ("http://a_b/", "http://a_b/"),
        ])
    func table(value: String, expected: String) throws {
        #expect(try TargetURI(value).description == expected)
    }

    @Test("What is normalised stays as it is when normalised again")
    func idempotence() throws {
        var generator = SeededGenerator(seed: 5)
        let units = [
            "/", ".", "..", "%", "%2e", "%2E", "%2f", "%25", "%34", "%31", "%41", "4", "1", "a", "Z", "~", "%7e", "?",
            "\\", "\u{e9}", "%zz", ";", "&", "//", "/../", "/./", "%00", "%C3", "E", "2",
        ]
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...14, using: &generator)
            let tail = (0..<count).map { _ in units[Int.random(in: 0..<units.count, using: &generator)] }.joined()
            let once = try TargetURI("http://Host/" + tail)
            let twice = try TargetURI(once.description)
            guard once.description == twice.description else {
                Issue.record("\(tail) gives \(once.description), and that gives \(twice.description)")
                return
            }
            #expect(once.pathStart == twice.pathStart && once.pathEnd == twice.pathEnd)
        }
    }

    @Test("A URI in normal form is taken as it is, and the slow way gives the same")
    func fastPath() throws {
        for value in ["http://a/", "https://a.example:8443/b/c.d?e=f/..", "assets://x/y", "http://[::1]:81/~a//b/"] {
            let buffer = ByteBuffer(string: value)
            let uri = try TargetURI(absolute: buffer)
            #expect(uri.bytes == buffer)
            // User information is what makes the slow way necessary and leaves no trace.
            let withUser = value.split(separator: "://", maxSplits: 1).joined(separator: "://u@")
            #expect(try TargetURI(withUser).description == value)
        }
    }

    @Test(
        "The work grows linearly with the target",
        arguments: [
            "../", "%", "/..", "a/../", "%2e%2e/", "./", "/", "%zz", "%41", "%%34%31", "\\", "@", "a/", "..", "?",
        ])
    func linear(unit: String) {
        let ratio = growth(from: 1024) { size in
            _ = try? TargetURI("http://a/" + String(repeating: unit, count: size))
        }
        #expect(ratio < 90)
        let deep = growth(from: 1024) { size in
            let up = String(repeating: "../", count: size)
            _ = try? TargetURI("http://a/" + String(repeating: "\(unit.first ?? "a")/", count: size) + up)
        }
        #expect(deep < 90)
    }
}
