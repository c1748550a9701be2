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
    /// The media type; empty where there is no body.
    var type: String
    var body: Body
    /// What the page may load and run.
    var policy = Policy.none
    /// The value of Cache-Control.
    var caching: StaticString = "no-store"
    /// Further field lines, each with its CRLF.
    var lines = ByteBuffer()

    /// A value of Content-Security-Policy.
    enum Policy {
        /// Nothing is loaded, and styles stand in the page.
        case none
        /// Scripts, styles and images are the proxy's own files; nothing in the page runs.
        case console
    }

    init(status: Int = 200, type: String, body: ByteBuffer) {
        self.init(status: status, type: type, body: .bytes(body))
    }

    init(status: Int = 200, type: String, body: Body) {
        self.status = status
        self.type = type
        self.body = body
    }

    /// Writes the fields that keep pages of other sites from showing this one, reading it, or being told of it.
    static func writeIsolation(to lines: inout ByteBuffer) {
        lines.writeStaticString(
            """
            X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
            Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n
            """)
    }

    private static let consolePolicy: StaticString = """
        Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
        connect-src 'self'; worker-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        require-trusted-types-for 'script'; trusted-types 'none'\r\n
        """

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
        let isBodyless = status == 204 || status == 304
        var lines = lines
        if !type.isEmpty { MessageWriter.writeField("Content-Type", Array(type.utf8), to: &lines) }
        if case .bytes(let bytes) = body, !isBodyless {
            MessageWriter.writeField("Content-Length", decimal: bytes.readableBytes, to: &lines)
        }
        lines.writeStaticString("Cache-Control: ")
        lines.writeStaticString(caching)
        lines.writeStaticString("\r\nX-Content-Type-Options: nosniff\r\n")
        OwnPage.writeIsolation(to: &lines)
        switch policy {
        case .none: ErrorPage.writePolicy(to: &lines)
        case .console: lines.writeStaticString(OwnPage.consolePolicy)
        }
        lines.writeImmutableBuffer(client.loop.proxy.identity.viaLine)
        lines.writeImmutableBuffer(client.loop.dateStamp().line)
        client.record?.outcome = .own
        let length: ResponseStart.Body =
            switch body {
            case _ where isHead || isBodyless: .none
            case .bytes(let bytes): .length(bytes.readableBytes)
            case .stream: .unknown
            }
        client.start(ResponseStart(status: status, reason: nil, lines: lines, body: length))
        switch body {
        case .bytes(let bytes):
            if !isHead, !isBodyless { client.send(bytes) }
            client.finish(trailers: nil)
        case .stream:
            if isHead { client.finish(trailers: nil) }
        }
    }
}
