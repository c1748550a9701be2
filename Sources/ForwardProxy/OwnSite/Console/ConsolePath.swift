import HTTPSemantics
import NIOCore

/// The paths of the console's pages, which no rule of the map may answer: a script there would be of the console's
/// origin.
enum ConsolePath {
    /// Whether a path of the proxy's own site is one of them.
    static func contains(_ path: some Collection<UInt8>) -> Bool {
        // Most paths differ from each of these in their second byte or third.
        path.starts(with: "/session/".utf8) || path.starts(with: "/sessions/".utf8)
            || path.starts(with: "/console/".utf8) || path.starts(with: "/api/".utf8)
    }
}

extension TargetURI {
    /// Whether its path would be one of the console's, if its host is the proxy.
    @inline(__always)
    var isOfConsole: Bool {
        withBytes { bytes in
            let start = pathStart &+ 1
            guard start < pathEnd else { return false }
            switch bytes[start] {
            case UInt8(ascii: "s"), UInt8(ascii: "c"), UInt8(ascii: "a"):
                return ConsolePath.contains(bytes[pathStart..<pathEnd])
            default: return false
            }
        }
    }
}

extension ExchangeRecord {
    /// Leaves the URL's query out of what is told of the exchange.
    mutating func omitQuery() {
        guard let query = url.readableBytesView.firstIndex(of: UInt8(ascii: "?")) else { return }
        url = url.getSlice(at: url.readerIndex, length: query - url.readerIndex) ?? ByteBuffer()
    }
}

extension ProxyError {
    /// The same about a page of the console's.
    var ofConsole: ProxyError {
        var error = self
        error.isOfConsole = true
        return error
    }
}
