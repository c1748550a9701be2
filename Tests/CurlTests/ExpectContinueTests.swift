import Testing

@testable import Curl

/// One that waits for an origin's word for longer than any machine takes.
private func makePatientLoop() throws -> TransferLoop { try makeLoop { $0.continueTimeoutMilliseconds = 600_000 } }

@Suite("Expect: 100-continue")
struct ExpectContinueTests {
    private let lines = ["Content-Length: 3", "Expect: 100-continue", "X: 1"]

    @Test("The body is asked for when 100 comes, also after another interim response")
    func continues() async throws {
        let log = Log()
        let origin = ScriptedOrigin { connection in
            log.add(connection.readHead())
            connection.write("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n")
            connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            log.add(connection.read(3).map(text))
            connection.respond("ok")
        }
        let loop = try makePatientLoop()
        let recorder = TransferRecorder(sending: ["abc"])
        let request = TransferRequest.to(origin, "PUT", lines: lines, body: .length(3), expectsContinue: true)
        #expect(await run(request, recorder, on: loop).isSuccess)
        #expect(
            log.all == [
                "PUT / HTTP/1.1\r\nHost: o.test\r\nContent-Length: 3\r\nExpect: 100-continue\r\nX: 1\r\n\r\n", "abc",
            ])
        #expect(
            recorder.lines == [
                "HTTP/1.1 103 Early Hints\r\n", "Link: a\r\n", "\r\n", "HTTP/1.1 100 Continue\r\n", "\r\n",
                "HTTP/1.1 200 OK\r\n", "Content-Length: 2\r\n", "\r\n",
            ])
    }

    @Test("An origin that says nothing for a second gets the body")
    func withoutAnswer() async throws {
        let origin = ScriptedOrigin { connection in
            _ = connection.readHead()
            connection.respond(connection.read(3).map(text) ?? "")
        }
        let loop = try makeLoop()
        let recorder = TransferRecorder(sending: ["abc"])
        let request = TransferRequest.to(origin, "PUT", lines: lines, body: .length(3), expectsContinue: true)
        #expect(await run(request, recorder, on: loop).isSuccess)
        #expect(recorder.body == "abc")
    }

    @Test(
        "A refusal comes through as it is, the request isn't repeated, and the body isn't asked for",
        arguments: [
            "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno",
            "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno",
            "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\n\r\nno",
            "HTTP/1.1 303 See Other\r\nLocation: /x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
        ])
    func refused(response: String) async throws {
        let log = Log()
        let origin = ScriptedOrigin { connection in
            log.add(connection.readHead())
            connection.write(response)
            // Without a length, the body ends with the connection.
            if response.contains("Length") || response.contains("chunked") { log.add(connection.readHead()) }
        }
        let loop = try makePatientLoop()
        for body in [TransferRequest.Body.length(3), .chunked] {
            let recorder = TransferRecorder(sending: ["abc"])
            let lines = body == .chunked ? ["Expect: 100-continue", "Transfer-Encoding: chunked"] : lines
            let request = TransferRequest.to(origin, "PUT", lines: lines, body: body, expectsContinue: true)
            let result = await run(request, recorder, on: loop)
            #expect(result.isSuccess, "\(result)")
            #expect(recorder.body == "no")
            #expect(recorder.current.readCalls == 0)
        }
        #expect(log.all.filter { $0.hasPrefix("PUT") }.count == 2)
    }

    @Test("The line goes out wherever it stands, and libcurl doesn't see it", arguments: 0...3)
    func positions(index: Int) async throws {
        let log = Log()
        let origin = ScriptedOrigin { connection in
            while let head = connection.readHead() {
                log.add(head)
                connection.respond("no", status: "417 Expectation Failed")
            }
        }
        let loop = try makePatientLoop()
        var lines = ["Host: o.test", "Empty:", "Content-Length: 3"]
        lines.insert("expect: 100-Continue", at: index)
        var request = TransferRequest.to(origin, "PUT", body: .length(3), expectsContinue: true)
        request.lines = RequestLines(lines.map { Array($0.utf8) })
        let recorder = TransferRecorder(sending: ["abc"])
        #expect(await run(request, recorder, on: loop).isSuccess)
        // Host goes first.
        if index == 0 { lines.swapAt(0, 1) }
        #expect(log.all == ["PUT / HTTP/1.1\r\n" + lines.joined(separator: "\r\n") + "\r\n\r\n"])
        #expect(recorder.lines == ["HTTP/1.1 417 Expectation Failed\r\n", "Content-Length: 2\r\n", "\r\n"])
    }
}
