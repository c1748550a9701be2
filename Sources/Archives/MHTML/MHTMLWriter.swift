/// Writes a saved page in MHTML (RFC 2557), whose parts are `binary` and found by Content-Location.
public struct MHTMLWriter: SavedPageWriter {
    private let boundary: [UInt8]
    private let document: [UInt8]
    private let title: String?

    /// - Parameters:
    ///   - document: the URL of the document, which is added first.
    ///   - title: for mail programs and lists; none is fine.
    ///   - boundary: what no body has at the start of a line: 16 random bytes in hexadecimal digits will do.
    public init(document: [UInt8], title: String? = nil, boundary: String) {
        self.boundary = Array("----MultipartBoundary--\(boundary)----".utf8)
        self.document = RecordedURL.repaired(document)
        self.title = title
    }

    public mutating func begin() -> [UInt8] {
        var bytes = Array("From: <Saved by subproxy>\r\nSnapshot-Content-Location: ".utf8)
        bytes += document
        if let title, !title.isEmpty { bytes += Array("\r\nSubject: \(EncodedWords.encoded(title))".utf8) }
        bytes += Array("\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n\ttype=\"text/html\";\r\n".utf8)
        bytes += Array("\tboundary=\"".utf8) + boundary
        return bytes + Array("\"\r\n\r\n".utf8)
    }

    public mutating func add(_ exchange: RecordedExchange, size: Int) -> [UInt8] {
        var bytes = Array("\r\n--".utf8) + boundary + [0x0D, 0x0A]
        if MHTMLWriter.isMultipart(exchange) {
            bytes += Array("Content-Type: application/octet-stream\r\n".utf8)
        } else if let type = MHTMLWriter.type(of: exchange), !type.isEmpty {
            bytes += Array("Content-Type: ".utf8) + type + [0x0D, 0x0A]
        }
        bytes += Array("Content-Transfer-Encoding: binary\r\nContent-Location: ".utf8)
        return bytes + RecordedURL.repaired(exchange.url) + Array("\r\n\r\n".utf8)
    }

    /// Whether a response is multipart: within a message its parts would be those of the page.
    static func isMultipart(_ exchange: RecordedExchange) -> Bool {
        type(of: exchange).map { MIMEType($0).isMultipart } ?? false
    }

    /// The Content-Type as it is written: without characters that end a line.
    private static func type(of exchange: RecordedExchange) -> [UInt8]? {
        exchange.value("Content-Type").map { $0.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 } }
    }

    public mutating func endBody() -> [UInt8] { [] }

    public mutating func finish() -> [UInt8] { Array("\r\n--".utf8) + boundary + Array("--\r\n".utf8) }
}
