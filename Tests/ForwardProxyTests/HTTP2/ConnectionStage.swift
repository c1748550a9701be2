import HTTP2
import HTTPSemantics
import NIOCore
import NIOEmbedded

@testable import ForwardProxy

/// Connections of HTTP/2 without TLS or sockets, each run to its end.
struct ConnectionStage {
    private let stage: LoopStage
    private let secured = SecureAuthority(Authority(host: "h.test", port: 443))
    var watch: ExchangeWatch { stage.watch }

    init() throws {
        let text = String(repeating: "large ", count: 20_000)
        stage = try LoopStage(
            "substitutions:\n  https://h.test/: { text: small }\n  https://h.test/large: { text: \"\(text)\" }\n"
                + "  https://h.test/absent: { text: absent, status: 404 }\n"
                + "  https://h.test/empty: { text: \"\" }\n"
                + "  https://h.test/statement: { sqlite: nix.db, methods: [POST], sql: SELECT @a AS a, delay: 50ms }\n")
    }

    /// What the connection is sent when these bytes come, and then the end.
    func run(_ pieces: [ByteBuffer]) throws -> [UInt8] {
        let channel = try stage.connect([
            HTTP2Connection(loop: stage.context, secured: secured, address: "127.0.0.1", isLocal: true)
        ])
        for piece in pieces where channel.isActive { try channel.writeInbound(piece) }
        stage.loop.advanceTime(by: .milliseconds(110))
        var output: [UInt8] = []
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { output += bytes.readableBytesView }
        _ = try channel.finish(acceptAlreadyClosed: true)
        return output
    }
}
