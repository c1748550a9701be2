import ProxyTestKit
import Testing

@Suite("HTTP/2 inside decrypted tunnels", .onThreads)
struct HTTP2Tests {
    /// A table of cases, each followed by a good request.
    enum Table: String, CaseIterable {
        case conformance = "The rules of RFC 9113 and RFC 7541 one by one"
        case replay = "What such a tester sends, at once and byte by byte"
        case frames = "Frames, streams and compression"
        case fields = "Request fields"
        case floods = "Floods and clients that do not read"
        case bodies = "Bodies, trailers, interim responses and the end"
        case uploads = "Requests that are answered before they have ended"
        case held = "Bodies that are held while an origin or a source is asked, over HTTP/1.1 too"
        case stored = "Stored responses"

        var script: String {
            switch self {
            case .conformance: "http2conformance.py"
            case .replay: "http2replay.py"
            case .frames: "http2frames.py"
            case .fields: "http2fields.py"
            case .floods: "http2floods.py"
            case .bodies: "http2bodies.py"
            case .uploads: "http2uploads.py"
            case .held: "heldbodies.py"
            case .stored: "http2stored.py"
            }
        }
    }

    @Test("Each case of a table ends as RFC 9113 wants it, and the proxy goes on", arguments: Table.allCases)
    func table(_ table: Table) throws {
        let client = try ChildProcess.run(
            ["python3", "-B", "\(EndToEnd.scripts)/\(table.script)", RunningBinary.path], seconds: 10 * Wait.limit)
        #expect(client.status == 0, "\(client.output)\(client.error)")
        let last = client.output.split(separator: "\n").last ?? ""
        #expect(last.hasSuffix(" passed, 0 failed") && !last.hasPrefix("0 "), "\(client.output)\(client.error)")
    }
}
