import HTTP1
import HTTPSemantics
import NIOCore

/// An exchange that an origin serves: what passes between the client and the transfer in the same way whatever becomes
/// of the response. The request's body goes up under the origin's back-pressure, with its trailers, and interim
/// responses and trailers come down.
protocol OriginExchange: Exchange, OriginSink {
    /// Nil from the end of the exchange on.
    var client: (any ExchangeClient)? { get }
    /// Nil before the request is sent on, and when the transfer is over.
    var transfer: (any OriginTransport)? { get }
    /// The field lines of the response's trailer section.
    var trailers: ByteBuffer? { get set }
}

extension OriginExchange {
    // MARK: The client's side

    func receive(_ body: ByteBuffer) {
        guard let transfer else { return }
        if !transfer.upload(body) { client?.setWantsBody(false) }
    }

    func receiveEnd(trailers: FieldSection?) {
        transfer?.endUpload(trailers: trailers.map(TrailerFilter.permitted) ?? [])
    }

    // MARK: The origin's side

    func originSentInterim(_ head: ResponseHead) { client?.pass(interim: head) }

    func originWantsBody() { client?.sendContinue() }

    func originTookBody() { client?.setWantsBody(true) }

    func originSentTrailers(_ fields: FieldSection) {
        var lines = ByteBuffer()
        MessageWriter.writeFields(of: fields, to: &lines) { !TrailerFilter.isForbidden($0, in: fields) }
        trailers = lines
    }
}

extension TrailerFilter {
    /// The field lines of a trailer section that may be passed on, without CRLF (RFC 9110 §6.5.1).
    fileprivate static func permitted(_ trailers: FieldSection) -> [[UInt8]] {
        trailers.lines.compactMap { line in
            guard !isForbidden(line, in: trailers) else { return nil }
            return trailers.withName(line, { Array($0) }) + [0x3a, 0x20] + trailers.withValue(line, { Array($0) })
        }
    }
}
