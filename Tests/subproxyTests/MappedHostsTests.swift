import Substitution
import TLSTermination
import Testing

@testable import subproxy

@Suite("The hosts that an authority can be limited to")
struct MappedHostsTests {
    private func hosts(_ keys: String...) throws -> MappedHosts {
        let text = "substitutions:\n" + keys.map { "  \"\($0)\": { text: x }\n" }.joined()
        return try MappedHosts(try #require(SubstitutionMap.load(text: text).map))
    }

    @Test("are those of the map's https keys, each once, and of patterns what is fixed")
    func names() throws {
        let found = try hosts(
            "https://a.example.com/x", "https://a.example.com/y", "https://*.example.org/z", "http://plain.example.com/"
        )
        #expect(Set(found.hosts.map(\.text)) == ["a.example.com", "example.org"])
        #expect(found.tooWide.isEmpty)
    }

    @Test("a domain of the first level is too wide, but for those that are reserved")
    func wide() throws {
        #expect(try hosts("https://*.test/x").tooWide.isEmpty)
        let found = try hosts("https://*.com/x")
        #expect(found.tooWide.count == 1)
        #expect(found.tooWide.first?.contains("every name that ends in '.com'") == true, "\(found.tooWide)")
    }

    @Test("a map without an https host has none")
    func none() { #expect(throws: CommandFailure.self) { try hosts("http://plain.example.com/") } }

    @Test(
        "which are no limits may be none, and patterns without a fixed end are passed over",
        arguments: [
            ("http://plain.example.com/", []), ("https://*/x", []), ("https://a.test/", ["a.test"]),
        ] as [(String, [String])])
    func examined(key: String, expected: [String]) throws {
        let map = try #require(SubstitutionMap.load(text: "substitutions:\n  \"\(key)\": { text: x }\n").map)
        #expect(try MappedHosts(map, areLimits: false).hosts.map(\.text) == expected)
    }
}
