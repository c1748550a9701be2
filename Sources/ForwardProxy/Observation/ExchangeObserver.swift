import HTTPSemantics
import NIOCore

/// Sees every exchange of an event loop from its beginning to its end: for what records exchanges, or shows them.
///
/// It is one of ``LoopContext/observers``, and costs nothing where there is none. All calls are on the event loop, in
/// the midst of serving, so they return soon. Bytes are shared and not copied: whoever keeps them keeps their memory.
///
/// The access log and the metrics read the same ends (``LoopContext/finish(_:client:)``), but are called by themselves:
/// they are there for every exchange, and what a mapped hit costs is measured in hundreds of instructions.
protocol ExchangeObserver: AnyObject {
    /// An exchange begins: the head of its request is complete, or can't be read.
    ///
    /// - Parameters:
    ///   - request: nil where it can't be read.
    ///   - record: what is known by now: when it began, its method and URL.
    ///   - client: the client's address.
    /// - Returns: what sees the rest of it; nil where that is not wanted.
    func began(_ request: RequestHead?, _ record: ExchangeRecord, client: String) -> (any ExchangeObservation)?
}

/// Sees the rest of one exchange: one head at most, the body behind it in order, and one end.
///
/// A tunnel has a head, that of the response which opens it, and no body. Interim responses and trailers are not seen.
protocol ExchangeObservation: AnyObject {
    /// The head of the final response is sent.
    ///
    /// - Parameter lines: its field lines, each with its CRLF; not those that HTTP/1.1 needs for the connection alone.
    func head(status: Int, lines: ByteBuffer)
    /// Bytes of the response's body are sent, without the chunked coding. Where the client goes, or is slow, not all of
    /// them get to it.
    func body(_ bytes: ByteBuffer)
    /// The exchange is over. A CONNECT whose tunnel is decrypted is over when TLS is agreed on: it has no line in the
    /// log, as the requests in it are exchanges of their own.
    ///
    /// - Parameter duration: nanoseconds since its beginning.
    func ended(_ record: ExchangeRecord, duration: UInt64)
}

/// What the observers of an exchange have returned, as its record carries it.
final class ObservedExchange: @unchecked Sendable {
    // Unchecked: it is touched on its event loop only, as the record is.

    private let observations: [any ExchangeObservation]

    fileprivate init(_ observations: [any ExchangeObservation]) { self.observations = observations }

    func head(status: Int, lines: ByteBuffer) {
        for observation in observations { observation.head(status: status, lines: lines) }
    }

    func body(_ bytes: ByteBuffer) {
        guard bytes.readableBytes > 0 else { return }
        for observation in observations { observation.body(bytes) }
    }

    fileprivate func ended(_ record: ExchangeRecord, duration: UInt64) {
        for observation in observations { observation.ended(record, duration: duration) }
    }
}

extension LoopContext {
    /// Begins an exchange's record. Called again for the same exchange, when its credentials have been checked, it puts
    /// the new record in the place of the first; observers are told of the beginning once.
    ///
    /// - Parameter request: nil where it can't be read.
    @inline(__always)
    func open(
        _ record: consuming ExchangeRecord, _ request: @autoclosure () -> RequestHead?, on client: any ExchangeClient
    ) {
        guard isObserved else {
            client.record = record
            return
        }
        openObserved(record, request(), on: client)
    }

    @inline(never)
    private func openObserved(_ record: ExchangeRecord, _ request: RequestHead?, on client: any ExchangeClient) {
        var record = record
        if let earlier = client.record {
            record.observed = earlier.observed
        } else {
            record.observed = observe(record, request, client: client.address)
        }
        client.record = record
    }

    private func observe(_ record: ExchangeRecord, _ request: RequestHead?, client: String) -> ObservedExchange? {
        let observations = observers.compactMap { $0.began(request, record, client: client) }
        guard !observations.isEmpty else { return nil }
        observedExchanges &+= 1
        return ObservedExchange(observations)
    }

    /// The exchange of a record is over for its observers. Called for each record once.
    @inline(__always)
    func endObservation(of record: borrowing ExchangeRecord, duration: UInt64) {
        if isObserved { endObserved(record, duration: duration) }
    }

    @inline(never)
    private func endObserved(_ record: borrowing ExchangeRecord, duration: UInt64) {
        guard let observed = record.observed else { return }
        observedExchanges &-= 1
        observed.ended(copy record, duration: duration)
    }

    /// Sends a straight answer where there are observers: with a record, which the client's side finishes as it does
    /// for any other exchange.
    ///
    /// - Parameter record: what the log and the observers are told at the end.
    func sendObserved(
        _ answer: ReadyAnswer, _ record: consuming ExchangeRecord, isNotModified: Bool, _ request: Request,
        second: Int64, to client: any ExchangeClient
    ) {
        open(record, request.head, on: client)
        let tail = dateStamp(second).line
        if let observed = client.record?.observed {
            answer.variants[0].tell(observed, isHead: request.isHead, isNotModified: isNotModified, tail: tail)
        }
        if isNotModified {
            answer.sendNotModified(to: client, second: second, tail: tail)
        } else {
            answer.sendReady(to: client, isHead: request.isHead, second: second, tail: tail)
        }
    }
}

extension ByteBuffer {
    /// The field lines of a serialised head, without its status line and the empty line behind them.
    var fieldLinesOfHead: ByteBuffer {
        withUnsafeReadableBytes { bytes in
            guard let status = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return ByteBuffer() }
            var end = status &+ 1
            while let line = bytes[end...].firstIndex(of: UInt8(ascii: "\n")), line > end &+ 1 { end = line &+ 1 }
            return ByteBuffer(bytes: bytes[(status &+ 1)..<end])
        }
    }
}
