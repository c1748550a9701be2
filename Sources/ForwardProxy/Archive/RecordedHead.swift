public import Archives
import HTTP1
import HTTPSemantics

/// The head of an entry's answer, as it is sent to a client that takes no content coding, without what is said of the
/// proxy itself.
public enum RecordedHead {
    /// The status line, the fields, and an empty line (RFC 9112 §2.1).
    ///
    /// - Parameters:
    ///   - size: the bytes of the body, decoded; nil where they are not known.
    ///   - body: all of it, decoded, as it is kept in memory; nil for one that is streamed.
    ///   - state: names the state of one that is streamed (``Substitution/ArchiveFile/state(of:_:)``).
    public static func bytes(_ exchange: RecordedExchange, size: Int?, body: [UInt8]?, state: String) -> [UInt8] {
        let status = exchange.status == 206 && !OutgoingFields.isPart(exchange) ? 200 : exchange.status
        let isCoded = !exchange.body.codings.isEmpty
        let isHead = exchange.method == "HEAD"
        var lines = "HTTP/1.1 \(status) \(ReasonPhrase.of(status))\r\n"
        var text = Array(lines.utf8)
        for field in OutgoingFields.make(exchange, keepsFreshness: false, now: 0) {
            guard let sent = field.sent(decoded: isCoded) else { continue }
            text += sent.name + Array(": ".utf8) + sent.value + Array("\r\n".utf8)
        }
        lines = ""
        if status == 200, !isHead {
            lines += "Accept-Ranges: bytes\r\n"
            if !exchange.body.isRewritten, exchange.value("etag") == nil {
                let tag = ContentTag.make(body ?? Array(state.utf8))
                lines += "ETag: \(String(decoding: tag, as: UTF8.self))\r\n"
            }
        }
        if isHead {
            let length = exchange.value("content-length").map { String(decoding: $0, as: UTF8.self) }
            lines += length.map { "Content-Length: \($0)\r\n" } ?? ""
        } else if let size, status >= 200, status != 204, status != 304 {
            lines += "Content-Length: \(size)\r\n"
        }
        return text + Array("\(lines)\r\n".utf8)
    }
}

extension RecordedField {
    /// The field in an answer; nil where it is not said of its body.
    ///
    /// - Parameter decoded: whether the body was recorded with a content coding, and is sent without it.
    func sent(decoded: Bool) -> RecordedField? {
        guard !isNamed("content-encoding"), !isNamed("accept-ranges"), !(decoded && isDigest) else { return nil }
        // The recorded tag is that of the coded bytes.
        guard decoded, isNamed("etag"), value.count > 1, value.last == UInt8(ascii: "\"") else { return self }
        return RecordedField(name, value.dropLast() + Array(";decoded\"".utf8))
    }
}
