import Crypto
import HTTP1
import HTTPSemantics
import NIOCore
import Substitution

/// Requests that ask for another protocol on their connection (RFC 9110 §7.8), and what makes a 101 a valid answer.
enum UpgradeRequest {
    /// Whether the request is to be tried as an upgrade: one without content, over HTTP/1.1, to a protocol that may
    /// pass.
    ///
    /// HTTP/2 in the clear may not: it would carry requests that nobody here sees.
    static func isWanted(_ method: Method, _ version: HTTPVersion, _ fields: FieldSection, hasBody: Bool) -> Bool {
        guard fields.contains(.upgrade), method == .get, version == .http1_1, !hasBody,
            HopByHop(fields).options.contains(.upgrade)
        else { return false }
        var isAllowed = false
        var isForbidden = false
        fields.forEach(.upgrade) { value in
            for protocolName in FieldListElements(value) {
                let name = protocolName.prefix { $0 != UInt8(ascii: "/") }
                let token = UnsafeRawBufferPointer(rebasing: name)
                if token.equalsIgnoringCase("h2c") || token.equalsIgnoringCase("h2") || token.equalsIgnoringCase("http")
                    || token.equalsIgnoringCase("tls")
                {
                    isForbidden = true
                } else if token.isToken {
                    isAllowed = true
                }
            }
        }
        return isAllowed && !isForbidden
    }

    /// Whether a 101 answers this request: it names a protocol that was asked for, and for WebSocket proves that the
    /// origin has read the handshake (RFC 6455 §4.2.2).
    static func isAnswered(_ request: Request, by head: ResponseHead) -> Bool {
        guard head.fields.count(of: .upgrade) == 1, HopByHop(head.fields).options.contains(.upgrade) else {
            return false
        }
        let chosen = head.fields.withFirst(.upgrade) { Array($0) } ?? []
        let wasAsked = chosen.withUnsafeBytes { request.head.fields.contains(token: $0, in: .upgrade) }
        guard wasAsked else { return false }
        guard chosen.withUnsafeBytes({ $0.equalsIgnoringCase("websocket") }) else { return true }
        guard let key = single("sec-websocket-key", request.head.fields),
            let accept = single("sec-websocket-accept", head.fields)
        else { return false }
        return accept == acceptValue(for: key)
    }

    /// The value of Sec-WebSocket-Accept for a key (RFC 6455 §4.2.2, item 5.4).
    static func acceptValue(for key: [UInt8]) -> [UInt8] {
        let digest = Insecure.SHA1.hash(data: key + Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let bytes = Array(digest)
        var out: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for byte in group { bits = bits << 8 | UInt32(byte) }
            bits <<= UInt32(8 * (3 - group.count))
            for position in 0..<4 {
                let sextet = Int(bits >> UInt32(18 - 6 * position) & 63)
                out.append(position <= group.count ? alphabet[sextet] : UInt8(ascii: "="))
            }
        }
        return out
    }

    private static func single(_ name: StaticString, _ fields: FieldSection) -> [UInt8]? {
        var values: [[UInt8]] = []
        fields.forEach(named: Array(name.description.utf8)) { values.append(Array($0)) }
        return values.count == 1 ? values.first : nil
    }
}
