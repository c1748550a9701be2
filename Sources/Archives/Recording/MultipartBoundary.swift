import Basics
import Crypto
import HTTPSemantics

/// Gives multipart bodies of requests a boundary that follows from their content. Clients draw one by lot for each
/// request, and the same request would be another one in each recording.
enum MultipartBoundary {
    /// Shorter ones may be part of what is sent.
    private static let least = 12

    /// The exchange with that boundary in the field and in the body (RFC 2046 §5.1.1); as it is where there is none.
    static func settled(_ exchange: RecordedExchange) -> RecordedExchange {
        guard let body = exchange.requestBody,
            let index = exchange.requestFields.firstIndex(where: { $0.isNamed("content-type") })
        else { return exchange }
        let value = exchange.requestFields[index].value
        guard let media = value.withUnsafeBytes({ MediaType($0) }), media.essence.starts(with: "multipart/".utf8),
            let boundary = media.parameter("boundary"), boundary.count >= least, boundary.count <= 256
        else { return exchange }
        let pieces = RedactedNames.pieces(of: body[...], around: Array("--".utf8) + boundary)
        let inField = RedactedNames.pieces(of: value[...], around: boundary)
        guard pieces.count > 1, inField.count == 2 else { return exchange }
        var digest = SHA256()
        for piece in pieces { digest.update(data: piece) }
        let settled = Array("boundary-\(Hexadecimal.text(digest.finalize().prefix(8)))".utf8)
        var result = exchange
        result.requestFields[index].value = Array(inField.joined(separator: settled))
        result.requestBody = Array(pieces.joined(separator: Array("--".utf8) + settled))
        return result
    }
}
