import HTTP1
import HTTPSemantics
import NIOCore

/// A page of the proxy's own.
struct OwnPage {
    enum Body {
        case bytes(ByteBuffer)
        /// What is made while it is sent. A HEAD makes none of it.
        case stream(any OwnPageStream)
    }

    var status = 200
    var type: String
    var body: Body

    init(status: Int = 200, type: String, body: ByteBuffer) {
        self.init(status: status, type: type, body: .bytes(body))
    }

    init(status: Int = 200, type: String, body: Body) {
        self.status = status
        self.type = type
        self.body = body
    }

    /// What was asked for is done, and there is nothing to say of it.
    static var done: OwnPage { OwnPage(status: 204, type: "", body: ByteBuffer()) }

    /// What `/healthz` says while requests are taken.
    static var serving: OwnPage { OwnPage(type: "text/plain; charset=utf-8", body: ByteBuffer(string: "ok\n")) }
    /// What it says when the proxy finishes what is under way, and takes no more.
    static var stopping: OwnPage {
        OwnPage(status: 503, type: "text/plain; charset=utf-8", body: ByteBuffer(string: "stopping\n"))
    }
}

/// Makes the body of a page while it is sent; called on the client's event loop.
protocol OwnPageStream: AnyObject {
    /// Gives the page what there is, now or later: called behind the page's head, and each time that a client that was
    /// behind has caught up.
    func resume(_ page: OwnPageExchange)
    /// The client has gone.
    func cancel()
}

extension OwnPage {
    /// Sends the head, and a body that is at hand, after which the exchange is over.
    func begin(to client: any ExchangeClient, isHead: Bool) {
        var lines = ByteBuffer()
        if status != 204 { MessageWriter.writeField("Content-Type", Array(type.utf8), to: &lines) }
        if case .bytes(let bytes) = body, status != 204 {
            MessageWriter.writeField("Content-Length", decimal: bytes.readableBytes, to: &lines)
        }
        lines.writeStaticString(
            """
            Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
            Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n
            """)
        ErrorPage.writePolicy(to: &lines)
        lines.writeImmutableBuffer(client.loop.dateStamp().line)
        client.record?.outcome = .own
        let length: ResponseStart.Body =
            switch body {
            case _ where isHead || status == 204: .none
            case .bytes(let bytes): .length(bytes.readableBytes)
            case .stream: .unknown
            }
        client.start(ResponseStart(status: status, reason: nil, lines: lines, body: length))
        switch body {
        case .bytes(let bytes):
            if !isHead, status != 204 { client.send(bytes) }
            client.finish(trailers: nil)
        case .stream:
            if isHead { client.finish(trailers: nil) }
        }
    }
}
