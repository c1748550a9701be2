import HTTPSemantics
import Testing

@testable import ForwardProxy

@Suite("The request under way on a connection")
struct RequestUnderWayTests {
    private func request(_ method: Method, _ version: HTTPVersion = .http1_1) -> RequestUnderWay {
        var request = RequestUnderWay()
        request.begin(version, method)
        return request
    }

    @Test(
        "a response ends where its fields say, at the last chunk, or with the connection of an HTTP/1.0 client",
        arguments: [
            (.http1_1, .none, .told), (.http1_1, .length(5), .told), (.http1_1, .unknown, .chunked),
            (.http1_0, .none, .told), (.http1_0, .length(5), .told), (.http1_0, .unknown, .close),
        ] as [(HTTPVersion, ResponseStart.Body, RequestUnderWay.Ending)])
    func ending(version: HTTPVersion, body: ResponseStart.Body, ending: RequestUnderWay.Ending) {
        var request = request(.get, version)
        request.startResponse(body)
        #expect(request.ending == ending)
        // Whole responses may be followed by the connection's orderly end.
        request.endResponse()
        #expect(request.ending != .close)
    }

    @Test(
        "the connection ends behind a request that can't be followed by another",
        arguments: [
            (.get, 400, false, true), (.get, 417, false, true), (.get, 403, true, false), (.get, 502, false, false),
            (.connect, 403, false, true), (.connect, 407, false, false), (.connect, 407, true, true),
            (.get, 407, true, false),
        ] as [(Method, Int, Bool, Bool)])
    func closing(method: Method, status: Int, hasUnread: Bool, closes: Bool) {
        let request = request(method)
        #expect(request.mustClose(behind: status, hasUnread: hasUnread) == closes)
    }

    @Test("bytes behind a request are read ahead unless it may become a tunnel, or its answer was sent at once")
    func readingAhead() {
        func reads(_ method: Method, _ fields: FieldSection?) -> Bool {
            request(method).letsReadAhead(fields)
        }
        let plain = FieldSection()
        #expect(reads(.get, plain) && reads(.post, plain))
        var upgrade = FieldSection()
        upgrade.append(name: "Upgrade".utf8, value: "websocket".utf8)
        #expect(!reads(.connect, plain) && !reads(.get, upgrade))
        #expect(!reads(.get, nil))
    }

    @Test("a change of what the exchange wants is told once")
    func wanting() {
        var request = RequestUnderWay()
        let changes = [true, false, false, true].map { request.setWantsBody($0) }
        #expect(changes == [false, true, false, true])
        #expect(request.bodyIsWanted)
    }
}
