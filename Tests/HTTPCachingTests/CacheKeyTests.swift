import HTTPCaching
import Testing

@Suite("The primary key")
struct CacheKeyTests {
    static let cases: [(String, String, Bool)] = [
        ("http://example.com/a", "HTTP://EXAMPLE.com:80/a", true),
        ("https://example.com/a", "https://example.com:443/a", true),
        ("http://example.com", "http://example.com/", true),
        ("http://example.com?q", "http://example.com/?q", true),
        ("http://example.com/a#x", "http://example.com/a#y", true),
        ("http://example.com/a", "https://example.com/a", false),
        ("http://example.com/a", "http://example.org/a", false),
        ("http://example.com/a", "http://example.com:8080/a", false),
        ("http://example.com/a", "http://example.com/A", false),
        ("http://example.com/a", "http://example.com/a/", false),
        ("http://example.com/a", "http://example.com//a", false),
        ("http://example.com/a", "http://example.com/a?", false),
        ("http://example.com/a?x=1&y=2", "http://example.com/a?y=2&x=1", false),
        ("http://example.com/~a", "http://example.com/%7Ea", false),
        ("http://example.com/%7Ea", "http://example.com/%7ea", false),
        ("http://example.com/a/b", "http://example.com/a%2Fb", false),
        ("http://example.com/b", "http://example.com/a/../b", false),
        ("http://example.com/:80", "http://example.com:80/", false),
    ]

    @Test("URLs share a key where scheme and authority are equivalent and the rest is the same", arguments: cases)
    func equality(_ one: String, _ other: String, _ isSame: Bool) throws {
        let (key, otherKey) = (CacheKey(try target(one)), CacheKey(try target(other)))
        #expect((key == otherKey) == isSame)
        #expect((key.bytes == otherKey.bytes) == isSame)
    }

    @Test("The key is the URL as the origin sees it")
    func bytes() throws {
        #expect(
            text(CacheKey(try target("HTTP://user@Example.com:80/A%2f../b?Q#f")).bytes)
                == "http://example.com/A%2f../b?Q")
    }
}
