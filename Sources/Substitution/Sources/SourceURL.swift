import HTTPSemantics
import NIOCore

/// The URLs that `forward` and `redirect` lead to.
enum SourceURL {
    static func parse(_ text: [UInt8]) throws(KeyError) -> TargetURI {
        let uri: TargetURI
        do throws(TargetError) {
            uri = try TargetURI(String(decoding: text, as: UTF8.self))
        } catch {
            throw KeyError(error.description)
        }
        guard !hasEmptyLabel(uri) else { throw KeyError("a host has no empty label: a dot has a name before it") }
        return uri
    }

    /// Whether a dot of the host has no name before it (RFC 1034 §3.1).
    static func hasEmptyLabel(_ uri: TargetURI) -> Bool {
        var before = UInt8(ascii: ".")
        for byte in uri.host.utf8 {
            if byte == UInt8(ascii: "."), before == byte { return true }
            before = byte
        }
        return false
    }

    /// Adds the rest of a folder's path and the request's query to a URL.
    static func append(_ request: SourceRequest, to url: inout [UInt8]) {
        guard request.kind != .expression else { return }
        let fragment = url.firstIndex(of: UInt8(ascii: "#")) ?? url.count
        url.removeSubrange(fragment...)
        var queryStart = url.firstIndex(of: UInt8(ascii: "?")) ?? url.count
        if request.kind == .folder {
            var rest = request.rest
            if queryStart == 0 || url[queryStart - 1] != UInt8(ascii: "/") { rest.insert(UInt8(ascii: "/"), at: 0) }
            url.insert(contentsOf: rest, at: queryStart)
            queryStart += rest.count
        }
        // The query as received: what the origin makes of its bytes is not ours to change.
        request.uri.rawPathAndQuery.withUnsafeReadableBytes { raw in
            guard let mark = raw.firstIndex(of: UInt8(ascii: "?")), mark + 1 < raw.count else { return }
            if queryStart == url.count {
                url.append(UInt8(ascii: "?"))
            } else if url.last != UInt8(ascii: "?"), url.last != UInt8(ascii: "&") {
                url.append(UInt8(ascii: "&"))
            }
            url.append(contentsOf: raw[(mark + 1)...])
        }
    }
}
