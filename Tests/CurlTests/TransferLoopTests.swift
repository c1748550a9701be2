import Glibc
import Synchronization
import Testing

@testable import Curl

@Suite("A loop's turns: pauses, cancels, limits, many at once")
struct TransferLoopTests {
    /// Bytes that are not the same in any two places near each other.
    private static let large: [UInt8] = (0..<(8 << 20)).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }

    @Test("A response of 8 MiB arrives whole through a pause at every call")
    func pausedReceiving() async throws {
        let origin = ScriptedOrigin { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(Self.large.count)\r\n\r\n")
            connection.write(Self.large)
        }
        let loop = try makeLoop()
        let recorder = TransferRecorder(onBody: { transfer, _ in
            transfer.resumeReceiving()
            return .consumedLast
        })
        let result = await run(.to(origin), recorder, on: loop)
        #expect(result.isSuccess, "\(result)")
        #expect(recorder.current.body == Self.large)
    }

    @Test(
        "After a call that took its last nothing more is read until receiving goes on, and the response arrives whole",
        arguments: [false, true], [false, true])
    func lastBeforePause(sendsBody: Bool, isChunked: Bool) async throws {
        let origin = ScriptedOrigin { connection in
            _ = connection.readHead()
            // Else what it has not read would reset the connection when it closes.
            defer { if sendsBody { _ = connection.read(to: "0\r\n\r\n") } }
            guard isChunked else {
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(Self.large.count)\r\n\r\n")
                connection.write(Self.large)
                return
            }
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for start in stride(from: 0, to: Self.large.count, by: 40_000) {
                let chunk = Self.large[start..<min(start + 40_000, Self.large.count)]
                connection.write(Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [0x0d, 0x0a])
            }
            connection.write("0\r\n\r\n")
        }
        let waiting = Atomic<Int>(0)
        let most = Atomic<Int>(0)
        let running = Mutex<Transfer?>(nil)
        var configuration = TransferLoopConfiguration()
        configuration.receiveBytes = 128 << 10
        // At the end of its turn a transfer is paused already.
        let loop = try TransferLoop(configuration) {
            let count = waiting.exchange(0, ordering: .relaxed)
            most.max(count, ordering: .relaxed)
            if count > 0 { running.withLock { $0 }?.resumeReceiving() }
        }
        let recorder = TransferRecorder(onBody: { transfer, count in
            running.withLock { $0 = transfer }
            waiting.add(count, ordering: .relaxed)
            return .consumedLast
        })
        let result = await run(
            .to(origin, sendsBody ? "POST" : "GET", body: sendsBody ? .chunked : .none), recorder, on: loop)
        #expect(result.isSuccess, "\(result)")
        let isWhole = recorder.current.body == Self.large
        #expect(isWhole)
        #expect(most.load(ordering: .relaxed) <= 128 << 10)
    }

    @Test("While receiving is paused the origin is held, and nothing more is delivered than was read by then")
    func heldOrigin() async throws {
        let sent = Atomic<Int>(0)
        let isHeld = Log()
        let origin = ScriptedOrigin { connection in
            var size: CInt = 65536
            setsockopt(connection.descriptor, SOL_SOCKET, SO_SNDBUF, &size, 4)
            _ = connection.readHead()
            let body = [UInt8](repeating: 0x61, count: 64 << 20)
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
            sent.store(connection.writeUntilHeld(body), ordering: .sequentiallyConsistent)
            isHeld.add("held")
        }
        let loop = try makeLoop()
        let recorder = TransferRecorder(onBody: { _, _ in .consumedLast })
        // The origin closes when it is held, of which a paused transfer learns nothing.
        let transfer = loop.start(.to(origin), delegate: recorder)
        await recorder.reaches { $0.bodyCalls >= 1 }
        await isHeld.reaches(1)
        let taken = sent.load(ordering: .sequentiallyConsistent)
        #expect(taken < 16 << 20)
        #expect(recorder.current.body.count <= 64 << 10)
        transfer.cancel()
        #expect(await recorder.result.isCancelled)
    }

    @Test("A request of 8 MiB arrives whole through a pause before every piece", arguments: [true, false])
    func pausedSending(isChunked: Bool) async throws {
        let isWhole = Atomic<Bool>(false)
        let origin = ScriptedOrigin { connection in
            _ = connection.readHead()
            var body: [UInt8] = []
            if isChunked {
                while let size = connection.read(to: "\r\n"), let count = Int(size.dropLast(), radix: 16), count > 0 {
                    body += connection.read(count) ?? []
                    _ = connection.read(2)
                }
                _ = connection.read(2)
            } else {
                body = connection.read(Self.large.count) ?? []
            }
            isWhole.store(body == Self.large, ordering: .sequentiallyConsistent)
            connection.respond("ok")
        }
        let loop = try makeLoop()
        let state = Mutex((offset: 0, mayGive: false))
        let recorder = TransferRecorder(onRead: { transfer, space in
            state.withLock { state in
                guard state.mayGive else {
                    state.mayGive = true
                    transfer.resumeSending()
                    return .pause
                }
                state.mayGive = false
                let count = min(space.count, Self.large.count - state.offset)
                guard count > 0 else { return .end }
                space.copyBytes(from: Self.large[state.offset..<state.offset + count])
                state.offset += count
                return .bytes(count)
            }
        })
        let line = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(Self.large.count)"
        let body: TransferRequest.Body = isChunked ? .chunked : .length(Self.large.count)
        let result = await run(.to(origin, "POST", lines: [line], body: body), recorder, on: loop)
        #expect(result.isSuccess, "\(result)")
        let arrived = isWhole.load(ordering: .sequentiallyConsistent)
        #expect(arrived)
    }

    @Test("Both directions may be paused, each without the other")
    func bothPaused() async throws {
        let origin = ScriptedOrigin { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
            connection.write(connection.read(1) ?? [])
        }
        let loop = try makeLoop()
        let maySend = Atomic<Bool>(false)
        let mayReceive = Atomic<Bool>(false)
        let recorder = TransferRecorder(
            onBody: { _, _ in mayReceive.load(ordering: .sequentiallyConsistent) ? .consumed : .consumedLast },
            onRead: { _, space in
                guard maySend.load(ordering: .sequentiallyConsistent) else { return .pause }
                space[0] = 0x62
                return .bytes(1)
            })
        let request = TransferRequest.to(origin, "POST", lines: ["Content-Length: 1"], body: .length(1))
        let transfer = loop.start(request, delegate: recorder)
        await recorder.reaches { $0.bodyCalls > 0 && $0.readCalls > 0 }
        maySend.store(true, ordering: .sequentiallyConsistent)
        let calls = recorder.current.bodyCalls
        transfer.resumeSending()
        await recorder.reaches { $0.readCalls > 1 }
        #expect(recorder.current.bodyCalls == calls, "receiving is still paused")
        mayReceive.store(true, ordering: .sequentiallyConsistent)
        transfer.resumeReceiving()
        #expect(await recorder.result.isSuccess)
        #expect(recorder.body == "ab")
    }

    @Test(
        "A response that ends while the request's body is waited for ends the transfer, if no more is to be sent",
        arguments: [
            "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno",
            "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno",
            "HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\nno", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nno",
        ])
    func earlyResponse(response: String) async throws {
        let origin = ScriptedOrigin { connection in
            _ = connection.readHead()
            _ = connection.read(1)
            connection.write(response)
        }
        let loop = try makeLoop()
        let hasGiven = Atomic<Bool>(false)
        let recorder = TransferRecorder(onRead: { _, space in
            if hasGiven.exchange(true, ordering: .relaxed) { return .pause }
            space[0] = 0x61
            return .bytes(1)
        })
        let request = TransferRequest.to(origin, "POST", lines: ["Content-Length: 9"], body: .length(9))
        let result = await run(request, recorder, on: loop)
        #expect(result.isSuccess, "\(result)")
        #expect(recorder.body == "no")
    }

    @Test("A cancel closes the connection: before the head, in the body, and while paused", arguments: 0..<3)
    func cancel(phase: Int) async throws {
        let sawEnd = Log()
        let origin = ScriptedOrigin { connection in
            _ = connection.readHead()
            if phase > 0 { connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") }
            sawEnd.add("head")
            let isEnd = connection.readsEnd()
            sawEnd.add(isEnd ? "end" : "late")
        }
        let loop = try makeLoop()
        let recorder = TransferRecorder(onBody: { _, _ in phase == 2 ? .consumedLast : .consumed })
        let transfer = loop.start(.to(origin), delegate: recorder)
        if phase > 0 { await recorder.reaches { $0.bodyCalls > 0 } }
        await sawEnd.reaches(1)
        transfer.cancel()
        transfer.cancel()
        let result = await recorder.result
        #expect(result.kind == .cancelled)
        #expect(!result.isSuccess)
        await sawEnd.reaches(2)
        #expect(sawEnd.all == ["head", "end"])
        #expect(recorder.current.ends == 1)
    }

    @Test("An origin that falls silent is told from one that the client holds")
    func silence() async throws {
        let origin = ScriptedOrigin { connection in
            guard let head = connection.readHead() else { return }
            if head.hasPrefix("GET /body") { connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") }
            _ = connection.readsEnd()
        }
        let short = try makeLoop { $0.silenceTimeoutMilliseconds = 400 }
        let before = await run(.to(origin), TransferRecorder(), on: short)
        #expect(before.silence == .beforeHead)
        #expect(before.kind == .silence)
        // On a busy machine it may not have begun within the shorter ones.
        var loop = short
        var inBody = before
        for limit in [400, 4000, 40_000] where !inBody.hasReceivedBytes {
            loop = try makeLoop { $0.silenceTimeoutMilliseconds = limit }
            inBody = await run(.to(origin, "GET", "/body"), TransferRecorder(), on: loop)
        }
        #expect(inBody.silence == .inBody)
        #expect(inBody.hasReceivedBytes)
        // An upload that the origin doesn't read.
        let greedy = TransferRecorder(onRead: { _, space in .bytes(space.count) })
        let upload = TransferRequest.to(
            origin, "POST", "/body", lines: ["Content-Length: \(1 << 40)"], body: .length(1 << 40))
        let stuck = ScriptedOrigin { connection in
            _ = connection.readHead()
            // Ends with the error that the client's closing makes.
            var state = pollfd(fd: connection.descriptor, events: 0, revents: 0)
            poll(&state, 1, 60_000)
        }
        var request = upload
        request.port = stuck.port
        #expect(await run(request, greedy, on: loop).silence == .beforeHead)

        // The client doesn't read, or doesn't send, for longer than the origin may be silent.
        let receiving = TransferRecorder(onBody: { _, _ in .consumedLast })
        let sending = TransferRecorder(onRead: { _, _ in .pause })
        let paused = loop.start(.to(origin, "GET", "/body"), delegate: receiving)
        let held = loop.start(.to(origin, "POST", lines: ["Content-Length: 9"], body: .length(9)), delegate: sending)
        for _ in 0..<2 {
            #expect(await run(.to(origin), TransferRecorder(), on: loop).silence == .beforeHead)
        }
        #expect(receiving.current.ends == 0)
        #expect(sending.current.ends == 0)
        paused.cancel()
        held.cancel()
        #expect(await receiving.result.isCancelled)
        #expect(await sending.result.isCancelled)
    }

    @Test("A connection attempt has a limit")
    func connectTimeout() async throws {
        // A listener whose queue is full lets no connection through.
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(listener, $0, length)
                _ = listen(listener, 0)
                _ = getsockname(listener, $0, &length)
            }
            return UInt16(bigEndian: $0.pointee.sin_port)
        }
        let loop = try makeLoop { $0.connectTimeoutMilliseconds = 150 }
        var kinds: [TransferResult.Kind] = []
        let recorders = (0..<4).map { _ in TransferRecorder() }
        for recorder in recorders { loop.start(.connection(to: "127.0.0.1", port: port), delegate: recorder) }
        for recorder in recorders {
            kinds.append(await recorder.result.kind)
            if let descriptor = recorder.current.descriptor { close(descriptor) }
        }
        #expect(kinds.contains(.connectTimeout))
    }

    @Test("200 transfers at once, each with its own response")
    func concurrent() async throws {
        let origin = ScriptedOrigin { connection in
            while let head = connection.readHead() {
                let target = head.split(separator: " ")[1]
                connection.respond(String(repeating: "\(target)", count: 1000))
            }
        }
        let loop = try makeLoop()
        for _ in 0..<3 {
            let recorders = (0..<200).map { number in
                let recorder = TransferRecorder()
                loop.start(.to(origin, "GET", "/\(number)"), delegate: recorder)
                return recorder
            }
            for (number, recorder) in recorders.enumerated() {
                #expect(await recorder.result.isSuccess)
                #expect(recorder.body == String(repeating: "/\(number)", count: 1000))
                #expect(recorder.current.ends == 1)
            }
        }
    }

    @Test("The end of a turn is told after what was delivered in it")
    func turnEnds() async throws {
        let origin = ScriptedOrigin { connection in
            while connection.readHead() != nil { connection.respond("abc") }
        }
        _ = try makeLoop()
        let turns = Atomic<Int>(0)
        let recorder = TransferRecorder()
        let loop = try TransferLoop { turns.add(1, ordering: .sequentiallyConsistent) }
        #expect(await run(.to(origin), recorder, on: loop).isSuccess)
        loop.shutdown()
        let count = turns.load(ordering: .sequentiallyConsistent)
        #expect(count > 0)
    }

    @Test("A shutdown cancels what runs and what comes after")
    func shutdown() async throws {
        let origin = ScriptedOrigin { connection in
            _ = connection.readHead()
            _ = connection.readsEnd()
        }
        let loop = try makeLoop()
        let recorders = (0..<20).map { _ in TransferRecorder() }
        for recorder in recorders { loop.start(.to(origin), delegate: recorder) }
        loop.shutdown()
        for recorder in recorders {
            #expect(recorder.current.ends == 1)
            #expect(recorder.current.result?.isCancelled == true)
        }
        let late = TransferRecorder()
        let transfer = loop.start(.to(origin), delegate: late)
        transfer.resumeReceiving()
        transfer.cancel()
        loop.shutdown()
        #expect(late.current.ends == 1)
        #expect(late.current.result?.isCancelled == true)
    }

    @Test("A loop may be ended and released on its own thread")
    func endsItself() async throws {
        let origin = ScriptedOrigin { connection in
            while connection.readHead() != nil { connection.respond("abc") }
        }
        let holder = Mutex<TransferLoop?>(try makeLoop())
        let recorder = TransferRecorder(onBody: { _, _ in
            let loop = holder.withLock { loop in
                defer { loop = nil }
                return loop
            }
            loop?.shutdown()
            return .consumed
        })
        let loop = holder.withLock { $0 }
        loop?.start(.to(origin), delegate: recorder)
        _ = await recorder.result
        #expect(recorder.current.ends == 1)
    }

    @Test("A delegate and its transfer are released with the transfer's end, though they hold each other")
    func released() async throws {
        let origin = ScriptedOrigin { $0.respond("abc") }
        let loop = try makeLoop()
        final class Probe: Sendable {}
        weak var delegate: TransferRecorder?
        weak var kept: Transfer?
        do {
            let holder = Mutex<Transfer?>(nil)
            let recorder = TransferRecorder(onBody: { transfer, _ in
                holder.withLock { $0 = transfer }
                return .consumed
            })
            delegate = recorder
            kept = loop.start(.to(origin), delegate: recorder)
            _ = await recorder.result
        }
        loop.shutdown()
        #expect(delegate == nil)
        #expect(kept == nil)
    }
}

/// The monotonic clock.
func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
