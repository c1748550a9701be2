import HTTP1
import HTTPSemantics
import NIOCore

/// What carries one request to an origin and its response back: libcurl, or a connection of its own for an upgrade.
///
/// Called on the client's event loop.
protocol OriginTransport: AnyObject {
    func start(sink: any OriginSink)
    /// Takes bytes of the request's body.
    ///
    /// - Returns: whether more may follow at once; else ``OriginSink/originTookBody()`` says when.
    func upload(_ body: ByteBuffer) -> Bool
    /// The request's body is complete; `trailers` are lines without CRLF.
    func endUpload(trailers: [[UInt8]])
    /// The client has taken bytes of the response's body: as many more may come.
    func acknowledge(_ count: Int)
    /// Bytes of the response's body that are on their way to the sink, or that it has not acknowledged; nil where the
    /// transport takes no loan.
    var unacknowledgedBytes: Int? { get }
    /// Sends the body straight to the client's socket from `position` on.
    ///
    /// A body has one loan, which may be lent any number of times.
    ///
    /// - Parameter position: how many bytes of the body the sink has received.
    func lend(_ loan: OutputLoan, at position: Int)
    /// Ends the transfer; nothing more is told to the sink.
    func cancel()
}

/// What learns of an origin's response, on the client's event loop.
protocol OriginSink: AnyObject {
    func originSentInterim(_ head: ResponseHead)
    func originSentHead(_ head: ResponseHead)
    func originSentBody(_ body: ByteBuffer)
    func originSentTrailers(_ fields: FieldSection)
    /// The origin is ready for the request's body.
    func originWantsBody()
    /// Bytes of the request's body that waited have been sent.
    func originTookBody()
    /// The exchange with the origin is over; nil where the response is complete.
    func originFinished(_ failure: ProxyError?)
}
