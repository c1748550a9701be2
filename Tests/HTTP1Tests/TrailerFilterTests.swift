import HTTP1
import HTTPSemantics
import Testing

@Suite("Trailers")
struct TrailerFilterTests {
    private func isForbidden(_ name: String) -> Bool {
        var fields = FieldSection()
        fields.append(name: name.utf8, value: "x".utf8)
        return fields.lines.contains { TrailerFilter.isForbidden($0, in: fields) }
    }

    @Test(
        "never carry framing, routing, request modifiers, authentication or what describes the content",
        arguments: [
            "Transfer-Encoding", "Content-Length", "Host", "Connection", "Keep-Alive", "TE", "Trailer", "Upgrade",
            "Proxy-Connection", "Cache-Control", "Expect", "Max-Forwards", "Pragma", "Range", "If-Match",
            "If-None-Match",
            "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Authorization", "Proxy-Authorization",
            "Proxy-Authenticate", "WWW-Authenticate", "Cookie", "Set-Cookie", "Age", "Expires", "Date", "Location",
            "Retry-After", "Vary", "Warning", "Content-Encoding", "Content-Type", "Content-Range", "content-language",
            "X-Forwarded-For", "Forwarded",
        ])
    func forbidden(_ name: String) { #expect(isForbidden(name)) }

    @Test(
        "carry other fields",
        arguments: ["X-Checksum", "Content-Digest", "Server-Timing", "ETag", "grpc-status", "Content"])
    func allowed(_ name: String) { #expect(!isForbidden(name)) }
}
