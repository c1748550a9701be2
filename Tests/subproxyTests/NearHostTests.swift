import HTTPSemantics
import Testing

@testable import subproxy

@Suite("The host of a page that is saved")
struct NearHostTests {
    @Test(
        "is near where all of its addresses are, also those that --resolve gives",
        arguments: [
            ("http://127.0.0.1/", true), ("http://[::1]:8080/", true), ("http://8.8.8.8/", false),
            ("http://near.test/", true), ("http://six.test:81/", true), ("http://mixed.test/", false),
            ("http://far.test/", false), ("http://near.test:82/", false),
        ])
    func said(url: String, isNear: Bool) throws {
        let resolve = [
            "near.test:80:127.0.0.1,10.0.0.1", "six.test:81:[::1]", "mixed.test:80:127.0.0.1,8.8.8.8",
            "far.test:80:8.8.8.8", "near.test:82:8.8.8.8",
        ]
        let host = NearHost(try TargetURI(url), resolve: resolve)
        #expect((host != nil) == isNear && host?.entry == nil)
    }

    @Test("is asked at the addresses that its name has")
    func lookedUp() throws {
        let entry = try #require(NearHost(try TargetURI("http://localhost:8080/"), resolve: [])?.entry)
        let parts = entry.split(separator: ":", maxSplits: 2)
        try #require(parts.count == 3, "\(entry)")
        #expect(parts[0] == "localhost" && parts[1] == "8080", "\(entry)")
        #expect(parts[2].split(separator: ",").allSatisfy { $0 == "127.0.0.1" || $0 == "[::1]" }, "\(entry)")
    }
}
