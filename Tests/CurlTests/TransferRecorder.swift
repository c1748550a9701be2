import Glibc
import Synchronization

@testable import Curl

/// A delegate that keeps what it is told, and says what a test gave it to say.
final class TransferRecorder: TransferDelegate {
    struct Record {
        var lines: [String] = []
        var body: [UInt8] = []
        var bodyCalls = 0
        var readCalls = 0
        var ends = 0
        var result: TransferResult?
        var descriptor: CInt?
        var waiters: [CheckedContinuation<TransferResult, Never>] = []
        var conditions: [(holds: @Sendable (Record) -> Bool, waiter: CheckedContinuation<Void, Never>)] = []
    }

    private typealias Waiters = [(CheckedContinuation<TransferResult, Never>, TransferResult)]

    private let record = Mutex(Record())
    private let onHeader: @Sendable (String) -> HeaderVerdict
    private let onBody: @Sendable (Transfer, Int) -> BodyVerdict
    private let onRead: @Sendable (Transfer, UnsafeMutableRawBufferPointer) -> ReadVerdict
    private let trailers: [String]
    private let allows: @Sendable (UnsafeRawPointer) -> Bool
    private let keepsBody: Bool

    init(
        onHeader: @escaping @Sendable (String) -> HeaderVerdict = { _ in .proceed },
        onBody: @escaping @Sendable (Transfer, Int) -> BodyVerdict = { _, _ in .consumed },
        onRead: @escaping @Sendable (Transfer, UnsafeMutableRawBufferPointer) -> ReadVerdict = { _, _ in .end },
        trailers: [String] = [], allows: @escaping @Sendable (UnsafeRawPointer) -> Bool = { _ in true },
        keepsBody: Bool = true
    ) {
        self.onHeader = onHeader
        self.onBody = onBody
        self.onRead = onRead
        self.trailers = trailers
        self.allows = allows
        self.keepsBody = keepsBody
    }

    /// One that sends the pieces, each in a call of its own.
    convenience init(sending pieces: [String], trailers: [String] = []) {
        let left = Mutex(pieces)
        self.init(
            onRead: { _, space in
                guard let piece = left.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return .end }
                space.copyBytes(from: piece.utf8)
                return .bytes(piece.utf8.count)
            }, trailers: trailers)
    }

    var current: Record { record.withLock { $0 } }
    var lines: [String] { current.lines }
    var body: String { text(current.body) }

    /// The end of the transfer.
    var result: TransferResult {
        get async {
            await withCheckedContinuation { waiter in
                let result = record.withLock { record -> TransferResult? in
                    if record.result == nil { record.waiters.append(waiter) }
                    return record.result
                }
                if let result { waiter.resume(returning: result) }
            }
        }
    }

    /// Waits until what was recorded is so.
    func reaches(_ holds: @escaping @Sendable (Record) -> Bool) async {
        await withCheckedContinuation { waiter in
            let isSo = record.withLock { record in
                if holds(record) { return true }
                record.conditions.append((holds, waiter))
                return false
            }
            if isSo { waiter.resume() }
        }
    }

    private func note(_ change: (inout Record) -> Void) {
        let (waiters, met) = record.withLock { record -> (Waiters, [CheckedContinuation<Void, Never>]) in
            change(&record)
            var met: [CheckedContinuation<Void, Never>] = []
            let copy = record
            record.conditions.removeAll { condition in
                guard condition.holds(copy) else { return false }
                met.append(condition.waiter)
                return true
            }
            guard let result = record.result else { return ([], met) }
            let waiters = record.waiters.map { ($0, result) }
            record.waiters = []
            return (waiters, met)
        }
        for (waiter, result) in waiters { waiter.resume(returning: result) }
        for waiter in met { waiter.resume() }
    }

    func transfer(_ transfer: Transfer, didReceiveHeaderLine line: UnsafeRawBufferPointer) -> HeaderVerdict {
        let line = text(Array(line))
        note { $0.lines.append(line) }
        return onHeader(line)
    }

    func transfer(_ transfer: Transfer, didReceiveBody bytes: UnsafeRawBufferPointer) -> BodyVerdict {
        let verdict = onBody(transfer, bytes.count)
        note { record in
            record.bodyCalls += 1
            if verdict == .consumed || verdict == .consumedLast, keepsBody { record.body.append(contentsOf: bytes) }
        }
        return verdict
    }

    func transfer(_ transfer: Transfer, readBodyInto space: UnsafeMutableRawBufferPointer) -> ReadVerdict {
        note { $0.readCalls += 1 }
        return onRead(transfer, space)
    }

    func trailers(of transfer: Transfer) -> [[UInt8]] { trailers.map { Array($0.utf8) } }

    func transfer(_ transfer: Transfer, mayConnectTo address: UnsafeRawPointer) -> Bool { allows(address) }

    func transfer(_ transfer: Transfer, didConnect descriptor: CInt) {
        note { $0.descriptor = descriptor }
    }

    func transferDidFinish(_ transfer: Transfer, _ result: TransferResult) {
        note { record in
            record.ends += 1
            record.result = result
        }
    }
}

extension TransferRequest {
    /// A request to an origin on loopback.
    static func to(
        _ origin: ScriptedOrigin, _ method: String = "GET", _ target: String = "/", host: String = "127.0.0.1",
        lines: [String] = [], body: Body = .none, expectsContinue: Bool = false, isFresh: Bool = false
    ) -> TransferRequest {
        TransferRequest(
            method: Array(method.utf8), isHTTPS: false, host: host, port: origin.port,
            pathAndQuery: latin1(target), lines: RequestLines([Array("Host: o.test".utf8)] + lines.map(latin1)),
            body: body,
            isHead: method == "HEAD", expectsContinue: expectsContinue, needsFreshConnection: isFresh)
    }
}

/// The bytes that ``text(_:)`` shows so.
func latin1(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }

/// A loop for a test. Every variable by which libcurl could be led astray is set before it.
func makeLoop(_ change: (inout TransferLoopConfiguration) -> Void = { _ in }) throws -> TransferLoop {
    _ = misleadingEnvironment
    var configuration = TransferLoopConfiguration()
    // No test is about these limits where it doesn't set them, however slow the machine is, or its name server.
    configuration.connectTimeoutMilliseconds = 600_000
    configuration.silenceTimeoutMilliseconds = 600_000
    change(&configuration)
    return try TransferLoop(configuration)
}

private let misleadingEnvironment: Void = {
    for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        setenv(name, "http://127.0.0.1:1/", 1)
    }
}()

/// Runs one transfer to its end.
func run(_ request: TransferRequest, _ recorder: TransferRecorder, on loop: TransferLoop) async -> TransferResult {
    loop.start(request, delegate: recorder)
    return await recorder.result
}

/// What a script saw, for the test to look at after the transfer.
final class Log: Sendable {
    private struct State {
        var texts: [String] = []
        var waiters: [(count: Int, waiter: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var all: [String] { state.withLock { $0.texts } }

    func add(_ text: String?) {
        let met = state.withLock { state in
            state.texts.append(text ?? "(end)")
            let met = state.waiters.filter { $0.count <= state.texts.count }.map(\.waiter)
            state.waiters.removeAll { $0.count <= state.texts.count }
            return met
        }
        for waiter in met { waiter.resume() }
    }

    /// Waits until so many were added.
    func reaches(_ count: Int) async {
        await withCheckedContinuation { waiter in
            let isSo = state.withLock { state in
                if state.texts.count >= count { return true }
                state.waiters.append((count, waiter))
                return false
            }
            if isSo { waiter.resume() }
        }
    }
}
