import HTTPSemantics
import Testing

@Suite struct WebOriginTests {
    @Test(arguments: [
        ("http://a", "http://a:80"), ("https://A.example", "https://a.example:443"), ("HTTP://a:8080", "http://a:8080"),
        ("http://[::1]", "http://[::1]:80"),
    ])
    func `An origin is the same with the port of its scheme and without, and in either case`(
        one: String, other: String
    ) throws {
        #expect(try #require(WebOrigin(one)) == #require(WebOrigin(other)))
        #expect(try #require(WebOrigin(one)) == WebOrigin(try TargetURI(one + "/path?query")))
    }

    @Test(arguments: [
        ("http://a", "https://a"), ("http://a", "http://a:81"), ("http://a:443", "https://a"), ("http://a", "http://b"),
    ])
    func `Another scheme, host or port is another origin`(one: String, other: String) throws {
        #expect(try #require(WebOrigin(one)) != #require(WebOrigin(other)))
    }

    @Test(arguments: [
        "null", "", "a", "http://", "http://a/", "http://a/b", "http://u@a", "http://a?b", "http://a#b", "http:/a",
        "http://a b",
    ])
    func `What is no origin is none`(text: String) { #expect(WebOrigin(text) == nil) }

    @Test func `This machine has three names`() {
        for text in ["http://localhost", "https://127.0.0.1:3000", "http://[::1]:80", "http://LOCALHOST:1"] {
            #expect(WebOrigin(text)?.isLoopback == true)
        }
        for text in ["http://localhost.evil.test", "ftp://localhost", "http://127.0.0.1.evil.test", "http://a"] {
            #expect(WebOrigin(text)?.isLoopback == false)
        }
    }
}
