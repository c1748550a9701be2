import HTTPSemantics
import ProxyTestKit
import Testing

@testable import Substitution

@Suite("Long queries, and many entries")
struct LongQueryTests {
    typealias Recorded = ArchiveStage.Recorded

    private static func query(_ numbers: some Sequence<Int>) -> String {
        numbers.map { "p\($0)=\($0 % 7)" }.joined(separator: "&")
    }

    @Test(
        "are the same in any order, without cache busters and with values that were taken out", arguments: [300, 2000])
    func order(_ count: Int) throws {
        let stage = try ArchiveStage([
            Recorded("https://a.example/s?" + Self.query(0..<count)),
            Recorded("https://a.example/r?token=REDACTED&" + Self.query(0..<count)),
            Recorded("POST", "https://a.example/f", body: Self.query(0..<count))
                .with(type: "application/x-www-form-urlencoded"),
        ])
        let other = Self.query((0..<count).reversed())
        #expect(try stage.find("https://a.example/s?" + Self.query(0..<count)) == "#1")
        #expect(try stage.find("https://a.example/s?" + other) == "#1 order")
        #expect(try stage.find("https://a.example/s?_=1&\(other)&utm_x=1&utm_x=2") == "#1 without _, utm_x")
        #expect(try stage.find("https://a.example/s?_=1&" + other) == "#1 without _")
        #expect(try stage.find("https://a.example/s?\(other)&p0=0") == "miss query")
        #expect(try stage.find("https://a.example/s?" + Self.query((1..<count).reversed())) == "miss query")
        #expect(try stage.find("https://a.example/r?\(other)&token=a") == "#2 order")
        #expect(try stage.find("https://a.example/r?\(other)&token=a&token=b") == "miss query")
        let type = [("Content-Type", "application/x-www-form-urlencoded")]
        #expect(try stage.find("POST", "https://a.example/f", fields: type, body: other) == "#3")
    }

    @Test("have as many equal parameters as short ones, with each of them as often as it is there")
    func equalCount() throws {
        var numbers = SeededGenerator(seed: 7)
        let words = [
            "a=1", "a=2", "a=REDACTED", "b=1", "b=REDACTED", "_rsc=x", "_rsc=y", "t=1700000000000", "c", "_=1",
        ]
        let rules = ParameterRules()
        func withSplit<Result>(_ words: [String], _ body: (SplitQuery) -> Result) -> Result {
            Array(("/?" + words.joined(separator: "&")).utf8).withUnsafeBytes {
                body(SplitQuery($0, pathEnd: 1, rules))
            }
        }
        func compared(_ mine: [String], _ theirs: [String]) -> (equal: Int, isFound: Bool, likeness: Double) {
            withSplit(mine) { mine in
                withSplit(theirs) { (mine.equalCount($0), mine.step(of: $0) != nil, mine.likeness($0)) }
            }
        }
        let further = (0..<40).map { "further\($0)=\($0)" }
        for _ in 0..<2000 {
            let mine = (0..<Int.random(in: 1...8, using: &numbers)).compactMap { _ in
                words.randomElement(using: &numbers)
            }
            let theirs = (0..<Int.random(in: 1...8, using: &numbers)).compactMap { _ in
                words.randomElement(using: &numbers)
            }
            let short = compared(mine, theirs)
            let long = compared(mine + further, further + theirs)
            #expect(long.equal == short.equal + 40 && long.isFound == short.isFound, "\(mine) \(theirs)")
            // One long query among short ones.
            #expect(compared(mine, further + theirs).equal == short.equal, "\(mine) \(theirs)")
            #expect(compared(mine + further, theirs).equal == short.equal, "\(mine) \(theirs)")
        }
        #expect(compared(["a=1"], further + ["a=1"]).likeness == 2.0 / 42)
    }

    @Test("are compared in linear time")
    func linear() {
        let queries = [500, 8000].reduce(into: [Int: (recorded: [UInt8], asked: [UInt8])]()) { queries, count in
            queries[count] = (
                Array("/?\(Self.query(0..<count))&_=1".utf8), Array("/?\(Self.query((0..<count).reversed()))&_=2".utf8)
            )
        }
        let times = growth(from: 500) { count in
            guard let (recorded, asked) = queries[count] else { return }
            recorded.withUnsafeBytes { recorded in
                asked.withUnsafeBytes { asked in
                    let recorded = SplitQuery(recorded, pathEnd: 1, ParameterRules())
                    let asked = SplitQuery(asked, pathEnd: 1, ParameterRules())
                    #expect(recorded.step(of: asked) == 3 && recorded.bustersThatDiffer(asked) == ["_"])
                }
            }
        }
        #expect(times < 60, "\(times) times the time for 16 times the parameters")
    }

    @Test("A miss takes no more time in an archive of many more entries")
    func misses() throws {
        func stage(_ count: Int) throws -> ArchiveStage {
            try ArchiveStage((0..<count).map { Recorded("https://a.example/s?n=\($0)&" + Self.query(0..<400)) })
        }
        let uri = try TargetURI("https://a.example/s?" + Self.query((0..<400).reversed()))
        let get = Array("GET".utf8).withUnsafeBytes { RequestMethod($0) }
        let stages = [100: try stage(100), 1600: try stage(1600)]
        let times = growth(from: 100, below: 4) { count in
            guard let map = stages[count]?.map, let archive = map.archives.first else { return }
            let miss = map.archiveMiss(uri, method: get, of: archive)
            #expect(miss.reason == .query && miss.nearest.map(\.position) == ["a.har#1", "a.har#2", "a.har#3"])
        }
        #expect(times < 4, "\(times) times the time for 16 times the entries")
    }

    @Test("What comes nearest to a miss: the path's entries, then those of its last segment, then other hosts'")
    func nearest() throws {
        let stage = try ArchiveStage([
            Recorded("https://a.example/x/items.json"), Recorded("https://b.example/api/items.json"),
            Recorded("https://a.example/api/items.json?a=1"), Recorded("https://a.example/api/items.json?a=1&b=2"),
            Recorded("https://a.example/items.json"), Recorded("https://a.example/api/myitems.json"),
            Recorded("https://a.example:8443/api/items.json?c=1"), Recorded("https://a.example/failed", status: 0),
        ])
        func nearest(_ url: String) throws -> [String] {
            let uri = try TargetURI(url)
            let get = Array("GET".utf8).withUnsafeBytes { RequestMethod($0) }
            let miss = stage.map.archiveMiss(uri, method: get, of: try #require(stage.map.archives.first))
            return miss.nearest.map { "\($0.position) \($0.differs.joined(separator: ","))" }
        }
        #expect(try nearest("https://a.example/api/items.json?a=1&b=3") == ["a.har#3 b", "a.har#4 b", "a.har#1 path"])
        #expect(try nearest("https://a.example/none/items.json") == ["a.har#1 path", "a.har#3 path", "a.har#4 path"])
        #expect(try nearest("https://c.example/api/items.json") == ["a.har#2 host", "a.har#3 host", "a.har#4 host"])
        #expect(try nearest("https://a.example:8443/api/items.json").first == "a.har#7 c")
        #expect(try nearest("https://a.example/failed").isEmpty)
        #expect(try nearest("https://a.example/").isEmpty)
    }
}
