import Glibc
import JSON

/// Sends commands to a browser and takes its answers and events, all on the thread that calls.
///
/// Events are handed on in their order, before the answer that came behind them. What is called for an event may send
/// commands, but wait for none.
final class DevToolsConnection {
    /// What stands behind a command's name where its answer does not come in time.
    static let noAnswer = " has no answer"

    /// How many messages are taken once the time is over.
    private static let mostLate = 1000

    private let pipe: MessagePipe
    /// How many commands were sent.
    private(set) var lastID = 0
    private var failure: BrowserFailure?
    /// Called for each event.
    var onEvent: (DevToolsEvent) -> Void = { _ in }
    /// Whether a session goes on: a command to one that has ended is never answered.
    var isAlive: (String) -> Bool = { _ in true }

    init(_ pipe: MessagePipe) { self.pipe = pipe }

    /// Sends a command whose answer nobody waits for.
    ///
    /// A failure is thrown by the next call that waits.
    func send(_ method: String, _ parameters: JSONValue = [:], session: String? = nil) {
        do throws(BrowserFailure) {
            _ = try write(method, parameters, session, until: Deadline(milliseconds: 10_000))
        } catch {
            failure = failure ?? error
        }
    }

    /// Sends a command and waits for its answer.
    ///
    /// - Throws: ``BrowserFailure``: `misunderstood` where the browser refuses, or the session has ended.
    func call(
        _ method: String, _ parameters: JSONValue = [:], session: String? = nil, until deadline: Deadline
    ) throws(BrowserFailure) -> JSONValue {
        try call(method, parameters, session: session, containing: nil, until: deadline) ?? [:]
    }

    /// The same for an answer that is long, and of use only where a text stands in it: else it is not read.
    ///
    /// - Returns: nil where the text does not.
    func call(
        _ method: String, _ parameters: JSONValue = [:], session: String? = nil, containing text: String?,
        until deadline: Deadline
    ) throws(BrowserFailure) -> JSONValue? {
        let id = try write(method, parameters, session, until: deadline)
        let beginning = Array(#"{"id":\#(id),"result":"#.utf8)
        var lateCount = 0
        while let bytes = try nextBytes(until: deadline) {
            if let text, bytes.starts(with: beginning), !DevToolsConnection.contains(bytes, text) { return nil }
            switch try message(bytes) {
            case .answer(id, let result): return result
            case .refusal(id, let text): throw BrowserFailure(.misunderstood, "\(method): \(text)")
            case .answer, .refusal: break
            case .event(let event): onEvent(event)
            }
            if let session, !isAlive(session) { throw BrowserFailure(.misunderstood, "\(method): the page has gone") }
            // What had come in time is taken; but a page may go on with events for ever.
            if deadline.isOver { lateCount += 1 }
            if lateCount > DevToolsConnection.mostLate { break }
        }
        throw BrowserFailure(.timedOut, method + DevToolsConnection.noAnswer)
    }

    /// Takes events until a condition holds.
    ///
    /// - Parameter condition: asked first, behind each event, and at each time that it names itself.
    /// - Returns: whether it came to hold in time.
    func wait(until deadline: Deadline, for condition: () -> WaitState) throws(BrowserFailure) -> Bool {
        while true {
            let next: Deadline
            switch condition() {
            case .holds: return true
            case .waits: next = deadline
            case .waitsUntil(let time): next = time.orEarlier(deadline)
            }
            if deadline.isOver { return false }
            if case .event(let event)? = try nextMessage(until: next) { onEvent(event) }
        }
    }

    private func write(
        _ method: String, _ parameters: JSONValue, _ session: String?, until deadline: Deadline
    ) throws(BrowserFailure) -> Int {
        if let failure { throw failure }
        lastID += 1
        try pipe.send(DevToolsMessage.command(lastID, method, parameters, session: session), until: deadline)
        return lastID
    }

    private static func contains(_ bytes: [UInt8], _ text: String) -> Bool {
        let text = Array(text.utf8)
        guard let first = text.first else { return true }
        return bytes.withUnsafeBytes { bytes in
            var start = 0
            while let base = bytes.baseAddress, let found = memchr(base + start, CInt(first), bytes.count - start) {
                start = base.distance(to: UnsafeRawPointer(found))
                if bytes[start...].starts(with: text) { return true }
                start += 1
            }
            return false
        }
    }

    /// - Returns: nil if there is none in time.
    private func nextMessage(until deadline: Deadline) throws(BrowserFailure) -> DevToolsMessage? {
        try nextBytes(until: deadline).map { bytes throws(BrowserFailure) in try message(bytes) }
    }

    private func nextBytes(until deadline: Deadline) throws(BrowserFailure) -> [UInt8]? {
        if let failure { throw failure }
        return try pipe.next(until: deadline)
    }

    private func message(_ bytes: [UInt8]) throws(BrowserFailure) -> DevToolsMessage {
        guard let message = DevToolsMessage(bytes) else {
            throw BrowserFailure(.misunderstood, "the browser's answer is not JSON of its protocol")
        }
        return message
    }
}

/// What a condition says that is waited for.
enum WaitState {
    case holds
    case waits
    /// It may hold at that time without anything happening.
    case waitsUntil(Deadline)
}
