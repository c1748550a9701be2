import CCurl
import Glibc
import Testing

@testable import Curl

@Suite("What comes of an origin's response")
struct TransferResultTests {
    private func answer(_ response: String, reset: Bool = false) async throws -> (TransferResult, TransferRecorder) {
        let origin = ScriptedOrigin { connection in
            _ = connection.readHead()
            connection.write(response)
            if reset { connection.reset() }
        }
        let loop = try makeLoop()
        let recorder = TransferRecorder()
        return (await run(.to(origin), recorder, on: loop), recorder)
    }

    @Test("Raw lines come in order: interim heads, the final head, trailers")
    func lines() async throws {
        let (result, recorder) = try await answer(
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                + "HTTP/1.1 200 \r\nX:caf\u{e9}\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3;x=y\r\nabc\r\n0\r\nT: 1\r\nU:\r\n\r\n")
        #expect(result.isSuccess)
        #expect(recorder.body == "abc")
        #expect(
            recorder.lines.map { $0.filter { $0 != "\r\n" } } == [
                "HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 200 ", "X:caf\u{c3}\u{a9}",
                "Transfer-Encoding: chunked", "", "T: 1", "U:",
            ])
    }

    @Test(
        "A body that is cut off is a failure",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        ])
    func truncated(response: String) async throws {
        let (result, recorder) = try await answer(response)
        #expect(result.kind == .incomplete)
        #expect(result.code == 18)
        #expect(result.hasReceivedBytes)
        #expect(!result.message.isEmpty)
        #expect(recorder.current.ends == 1)
    }

    @Test("A broken connection is a failure")
    func reset() async throws {
        let breaking = ScriptedOrigin { connection in
            // What was not read makes the close a reset.
            _ = connection.read(3)
            connection.reset()
        }
        let loop = try makeLoop()
        let result = await run(.to(breaking), TransferRecorder(), on: loop)
        #expect(result.kind == .reset)
        #expect(result.code == 56)
        #expect(!result.hasReceivedBytes)
    }

    @Test(
        "The end of a connection in the middle of a TLS handshake is told from an alert, and from what is no TLS",
        arguments: [
            ([], false, TransferResult.Kind.reset), ([], true, .reset), ([0x16, 3, 3, 0, 0x7a, 2, 0], false, .reset),
            ([0x15, 3, 3, 0, 2, 1, 0], false, .reset), ([0x15, 3, 3, 0, 2, 2, 0x28], false, .tlsProtocol),
            (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), false, .tlsProtocol),
        ])
    func handshake(_ bytes: [UInt8], _ isReset: Bool, _ kind: TransferResult.Kind) async throws {
        let origin = ScriptedOrigin { connection in
            // The head of the ClientHello's record, and the record.
            guard let head = connection.read(5), let rest = connection.read(Int(head[3]) << 8 | Int(head[4])),
                !rest.isEmpty
            else { return }
            connection.write(bytes)
            if isReset { connection.reset() }
        }
        var request = TransferRequest.to(origin)
        request.isHTTPS = true
        let result = await run(request, TransferRecorder(), on: try makeLoop())
        #expect(result.kind == kind, "\(result.message)")
        #expect(!result.hasReceivedBytes)
    }

    @Test("What went wrong on a kept connection that was left is not told as the reason of what failed after it")
    func reasonOfAnother() {
        let broken = "Send failure: Broken pipe"
        for code in [CURLE_COULDNT_CONNECT, CURLE_PEER_FAILED_VERIFICATION, CURLE_COULDNT_RESOLVE_HOST] {
            let told = EasyHandle.reason(of: code, said: broken)
            #expect(told == EasyHandle.reason(of: code, said: "") && told != broken)
        }
        for code in [CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SSL_CONNECT_ERROR] {
            #expect(EasyHandle.reason(of: code, said: broken) == broken)
        }
        #expect(EasyHandle.reason(of: CURLE_COULDNT_CONNECT, said: "Failed to connect") == "Failed to connect")
    }

    @Test(
        "Something that is no HTTP/1 response is a failure",
        arguments: ["hello\r\n", "\u{1}\u{2}\u{3}", "SSH-2.0-x\r\n"])
    func http09(response: String) async throws {
        let (result, recorder) = try await answer(response)
        #expect(result.kind == .malformed)
        #expect(recorder.body == "")
    }

    @Test("No response at all is a failure")
    func nothing() async throws {
        let (result, _) = try await answer("")
        #expect(result.kind == .reset)
        #expect(result.code == 52)
    }

    @Test("An empty body, and bodies that end with the connection")
    func complete() async throws {
        #expect(try await answer("HTTP/1.1 204 No Content\r\n\r\n").0.isSuccess)
        #expect(try await answer("HTTP/1.0 200 OK\r\n\r\nabc").1.body == "abc")
        #expect(try await answer("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip").1.body == "not gzip")
    }

    @Test("A redirect is not followed and what asks for credentials is passed on")
    func notFollowed() async throws {
        for response in [
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 1\r\n\r\na",
            "HTTP/1.1 401 U\r\nWWW-Authenticate: NTLM\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 1\r\n\r\na",
            "HTTP/1.1 407 P\r\nProxy-Authenticate: Basic\r\nContent-Length: 1\r\n\r\na",
        ] {
            let (result, recorder) = try await answer(response)
            #expect(result.isSuccess)
            #expect(recorder.body == "a")
        }
    }

    @Test("A verdict of the delegate's ends the transfer")
    func aborted() async throws {
        let origin = ScriptedOrigin { connection in
            guard connection.readHead() != nil else { return }
            connection.respond("abc")
            _ = connection.readsEnd()
        }
        let loop = try makeLoop()
        for recorder in [
            TransferRecorder(onHeader: { $0.hasPrefix("Content") ? .abort : .proceed }),
            TransferRecorder(onBody: { _, _ in .abort }),
        ] {
            let result = await run(.to(origin), recorder, on: loop)
            #expect(result.isAborted)
            #expect(result.kind == .malformed)
        }
        let request = TransferRequest.to(origin, "POST", lines: ["Content-Length: 1"], body: .length(1))
        let result = await run(request, TransferRecorder(onRead: { _, _ in .abort }), on: loop)
        #expect(result.isAborted)
        #expect(!result.isSuccess)
    }

    @Test("What can't be reached is told apart")
    func notReached() async throws {
        let loop = try makeLoop()
        let recorder = TransferRecorder()
        let closed = TransferRequest(
            method: Array("GET".utf8), isHTTPS: false, host: "127.0.0.1", port: 1, pathAndQuery: [0x2f], lines: [])
        let result = await run(closed, recorder, on: loop)
        #expect(result.kind == .notConnected)
        #expect(result.osErrno == ECONNREFUSED)
        var starved = result
        starved.osErrno = EMFILE
        #expect(starved.kind == .noResources)
        var unknown = closed
        unknown.host = "does-not-exist.invalid"
        #expect(await run(unknown, TransferRecorder(), on: loop).kind == .hostNotFound)
    }

    @Test(
        "An address may be refused, however it is written",
        arguments: ["127.0.0.1", "2130706433", "0177.0.0.1", "127.1"])
    func refusedAddress(host: String) async throws {
        let origin = ScriptedOrigin { $0.respond() }
        let loop = try makeLoop()
        let recorder = TransferRecorder(allows: { address in
            let ipv4 = address.loadUnaligned(as: sockaddr_in.self)
            return UInt32(bigEndian: ipv4.sin_addr.s_addr) >> 24 != 127
        })
        let result = await run(.to(origin, host: host), recorder, on: loop)
        #expect(result.kind == .notConnected)
        #expect(result.refusedAddress)
        #expect(origin.connections == 0)
    }

    @Test("A success tells where and how long")
    func numbers() async throws {
        let (result, _) = try await answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(result.primaryAddress == "127.0.0.1")
        #expect(result.primaryPort != 0)
        #expect(!result.reusedConnection)
        #expect(result.hasReceivedBytes)
        #expect(result.timings.startTransfer > 0)
        #expect(result.timings.total >= result.timings.startTransfer)
        #expect(result.message.isEmpty)
    }
}
