import ForwardProxy
import ProxyTestKit
import Testing

@Suite("Variants of one URL")
struct CacheVariantTests {
    /// An origin whose response says which one it is, and varies.
    private func stage(_ vary: String...) throws -> CacheStage {
        let lines = vary.map { "Vary: \($0)" }
        return try CacheStage { _, number in
            response("200 OK", ["Cache-Control: max-age=60"] + lines, body: "\(number)")
        }
    }

    @Test("Vary: * is never reused, wherever in Vary it stands")
    func any() throws {
        for vary in ["*", "Accept, *", " * "] {
            let stage = try stage(vary)
            let first = try stage.get()
            #expect(first.cacheStatus == "subproxy; fwd=uri-miss; detail=\"Vary *\"")
            #expect(try stage.get().body == "2")
        }
    }

    @Test("each combination of the fields that Vary names has its own response")
    func combinations() throws {
        let stage = try stage("Accept-Encoding, Cookie")
        let requests = [
            ["Accept-Encoding: gzip", "Cookie: a=1"], ["Accept-Encoding: gzip", "Cookie: a=2"],
            ["Accept-Encoding: br", "Cookie: a=1"], ["Cookie: a=1"], [],
        ]
        for (index, fields) in requests.enumerated() {
            let answer = try stage.proxy.exchange("GET", stage.url(), fields: fields)
            #expect(answer.body == "\(index + 1)")
            #expect(
                answer.cacheStatus?.hasPrefix(index == 0 ? "subproxy; fwd=uri-miss" : "subproxy; fwd=vary-miss") == true
            )
        }
        for (index, fields) in requests.enumerated() {
            let hit = try stage.proxy.exchange("GET", stage.url(), fields: fields)
            #expect(hit.body == "\(index + 1)")
            #expect(hit.cacheStatus == "subproxy; hit; ttl=60; key=\"accept-encoding, cookie\"")
        }
    }

    @Test(
        "case, whitespace, empty members, duplicates and several lines of Vary change nothing",
        arguments: [
            ["X-A, X-B"], ["x-a,x-b"], ["X-B", "X-A"], [" ,X-A ,, \t X-B , x-a "], ["X-A", "", "X-B", "x-A, X-B"],
        ])
    func spellings(_ vary: [String]) throws {
        let stage = try CacheStage { _, number in
            response("200 OK", ["Cache-Control: max-age=60"] + vary.map { "Vary: \($0)" }, body: "\(number)")
        }
        #expect(try stage.get("/", "X-A: 1", "X-B: 2").body == "1")
        #expect(try stage.get("/", "x-b:2  ", "X-a:   1").body == "1")
        #expect(try stage.get("/", "X-A: 1", "X-B: 3").body == "2")
        #expect(try stage.get("/", "X-A: 1").body == "3")
        #expect(try stage.get("/", "X-A: 1", "X-B:").body == "4")
        #expect(try stage.get("/", "X-A: 1", "X-B: 2").body == "1")
        #expect(stage.count == 4)
    }

    @Test("lines of a request's field are told apart; whitespace in a known list does not count")
    func requestLists() throws {
        let stage = try stage("Accept-Language, X-A")
        #expect(try stage.get("/", "Accept-Language: de, en;q=0.5", "X-A: 1, 2").body == "1")
        #expect(try stage.get("/", "Accept-Language: de,en; q=0.5", "X-A: 1, 2").body == "1")
        #expect(try stage.get("/", "Accept-Language: de, en;q=0.5", "X-A: 1", "X-A: 2").body == "2")
        #expect(try stage.get("/", "Accept-Language: de", "Accept-Language: en;q=0.5", "X-A: 1, 2").body == "3")
        #expect(try stage.get("/", "Accept-Language: en;q=0.5, de", "X-A: 1, 2").body == "4")
        #expect(try stage.get("/", "Accept-Language: de, en;q=0.5", "X-A: 1,2").body == "5")
        #expect(try stage.get("/", "Accept-Language: de, en;q=0.5", "X-A: 1, 2").body == "1")
    }

    @Test("of a hundred variants a bounded number is kept, the newest")
    func bound() throws {
        let stage = try stage("X-A")
        let client = try stage.proxy.connect()
        func get(_ number: Int) throws -> ProxyResponse {
            try client.sendRequest("GET", stage.url(), fields: ["X-A: \(number)"])
            return try client.receiveResponse()
        }
        for number in 1...100 { #expect(try get(number).text == "\(number)") }
        #expect(stage.count == 100)
        for number in 69...100 { #expect(try get(number).text == "\(number)") }
        #expect(stage.count == 100)
        // Asking for those that had to go does not make room for them all.
        for number in 1...10 { #expect(try get(number).text == "\(100 + number)") }
        #expect(stage.count == 110)
    }

    @Test("a variant more than one event loop knows is found whichever was made ready first")
    func newVariant() throws {
        let stage = try stage("X-A")
        #expect(try stage.get("/", "X-A: 1").body == "1")
        #expect(try stage.get("/", "X-A: 1").body == "1")
        #expect(try stage.get("/", "X-A: 2").body == "2")
        #expect(try stage.get("/", "X-A: 1").body == "1")
        #expect(try stage.get("/", "X-A: 2").body == "2")
        #expect(try stage.get("/", "X-A: 2", "Cache-Control: no-cache").body == "3")
        #expect(try stage.get("/", "X-A: 2").body == "3")
        #expect(try stage.get("/", "X-A: 1").body == "1")
    }

    @Test("a Vary that names more fields than are kept is not stored")
    func tooMany() throws {
        let stage = try stage((0..<17).map { "X-\($0)" }.joined(separator: ","))
        #expect(try stage.get().cacheStatus?.contains("; stored") == false)
        #expect(try stage.get().body == "2")
    }
}
