#if DEBUG || FUZZING
import HTTP1
import HTTP1Invariants
import HTTPSemantics
import NIOCore

@testable import ForwardProxy

/// Properties of a client's connection that speaks HTTP/1, from its bytes to those that it gets.
public enum ConnectionInvariants {
    static func check(_ bytes: [UInt8]) throws {
        let requests = requestTrace([ByteBuffer(bytes: bytes)])
        // A tunnel's bytes are no messages.
        let isTunnel = requests.steps.contains { step in
            guard case .requestHead(let method, _, _, _, _) = step else { return false }
            return method == Array("CONNECT".utf8)
        }
        guard !isTunnel else { return _ = try answer(to: bytes) }
        let cuts: [[Int]] = [
            [], bytes.count <= 256 ? Array(bytes.indices) : bytes.indices.filter { bytes[$0] == 0x0a },
        ]
        let outputs = try EmbeddedProxy.outputs(cuts.count) { try answer(to: pieces(bytes, cutAt: cuts[$0])) }
        try require(outputs[0] == outputs[1], "\(text(outputs[0])), cut: \(text(outputs[1]))")
        try checkResponses(outputs[0], to: requests, failed: methodOfFailedRequest(bytes))
    }

    /// What a client gets that sends these bytes and then no more.
    public static func answer(to bytes: [UInt8]) throws -> [UInt8] { try answer(to: [ByteBuffer(bytes: bytes)]) }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func answer(to pieces: [ByteBuffer]) throws -> [UInt8] {
        var proxy = try EmbeddedProxy {
            ClientConnection(loop: $0, address: "127.0.0.1", isLocal: true, isEncrypted: false)
        }
        for piece in pieces { try proxy.receive([piece]) }
        try proxy.finish()
        return proxy.output
    }

    /// Each request has one response, in order; at the end there may be one to what is no request.
    ///
    /// - Parameter failed: the method of that, where it has one.
    private static func checkResponses(
        _ output: [UInt8], to requests: MessageTrace, failed: [UInt8]?
    ) throws {
        var methods = requests.steps.compactMap { step -> HTTPSemantics.Method? in
            guard case .requestHead(let method, _, _, _, _) = step else { return nil }
            return method.withUnsafeBytes { Method($0) }
        }
        if requests.error != nil {
            methods.append(failed.map { $0.withUnsafeBytes { Method($0) } } ?? .get)
        }
        var input = ByteBuffer(bytes: output)
        var parser = ResponseParser(respondingTo: methods.first ?? .get)
        parser.feed(&input)
        parser.end()
        for method in methods where parser.hasBufferedBytes {
            parser.expectResponse(to: method)
            while let event = try parser.next() {
                guard case .head(let head, let framing) = event else { continue }
                try require(200...599 ~= head.status, "status \(head.status)")
                try require(framing != .untilClose || head.fields.contains(.connection), "an end that is not said")
            }
            try require(parser.hasEnded, "a response without an end: \(text(output))")
        }
        try require(!parser.hasBufferedBytes, "more than the responses: \(text(output))")
    }
}
#endif
