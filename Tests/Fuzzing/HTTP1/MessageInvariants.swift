import HTTP1
public import HTTPSemantics
import NIOCore

/// A property of the parsers that some input breaks, in words.
public struct InvariantViolation: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// Throws where a property does not hold.
public func require(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    guard condition else { throw InvariantViolation(what()) }
}

/// Properties that hold for all bytes, as fuzzers and tests check them.
public enum MessageInvariants {
    /// Checks ``RequestParser``: the arrival of the bytes changes nothing, and what is accepted is well formed.
    public static func checkRequest(_ bytes: [UInt8]) throws {
        let whole = requestTrace([ByteBuffer(bytes: bytes)])
        for cuts in cuts(for: bytes) {
            let cut = requestTrace(pieces(bytes, cutAt: cuts))
            guard cut == whole else { throw InvariantViolation("cut: \(cut)\nwhole: \(whole)") }
        }
        for step in whole.steps {
            guard case .requestHead(let method, let target, let version, let fields, let framing) = step else {
                continue
            }
            try checkFields(fields)
            try require(!target.isEmpty && target.allSatisfy { $0 > 0x20 && $0 != 0x7f }, "target \(target)")
            let hosts = fields.count { matches($0.name, "host") }
            try require(hosts == 1 || (hosts == 0 && version == .http1_0), "\(hosts) Hosts")
            let lengths = fields.count { matches($0.name, "content-length") }
            let codings = fields.count { matches($0.name, "transfer-encoding") }
            try require(lengths + codings <= 1, "\(lengths) lengths and \(codings) transfer codings")
            switch framing {
            case .none: try require(codings == 0, "a transfer coding without chunked framing")
            case .length(let length): try require(lengths == 1 && length >= 0, "length \(length)")
            case .chunked: try require(codings == 1 && version == .http1_1, "chunked framing")
            case .untilClose: throw InvariantViolation("a request that ends with the connection")
            }
            try checkRewriting(step, method, target, fields)
        }
    }

    /// Checks ``ResponseParser`` and ``ResponseHeadParser``: arrival changes nothing, and both see the same heads.
    public static func checkResponse(_ bytes: [UInt8], to method: Method) throws {
        let whole = responseTrace([ByteBuffer(bytes: bytes)], to: method)
        for cuts in cuts(for: bytes) {
            let cut = responseTrace(pieces(bytes, cutAt: cuts), to: method)
            guard cut == whole else { throw InvariantViolation("cut: \(cut)\nwhole: \(whole)") }
        }
        var heads: [TraceStep] = []
        for step in whole.steps {
            guard case .responseHead(let status, let reason, let version, let fields, _) = step else { continue }
            try checkFields(fields)
            try require((100...999).contains(status), "status \(status)")
            heads.append(.responseHead(status: status, reason: reason, version, fields, nil))
        }
        try checkLines(bytes, expecting: heads)
    }

    /// Checks ``ChunkedDecoder``: arrival changes nothing, and what it decodes is decoded again after being encoded.
    public static func checkChunked(_ bytes: [UInt8]) throws {
        let whole = chunkedTrace([ByteBuffer(bytes: bytes)])
        for cuts in cuts(for: bytes) {
            let cut = chunkedTrace(pieces(bytes, cutAt: cuts))
            guard cut == whole else { throw InvariantViolation("cut: \(cut)\nwhole: \(whole)") }
        }
        let body = whole.trace.body
        var encoded = ByteBuffer()
        if MessageWriter.writeChunkHead(body.count, to: &encoded) {
            encoded.writeBytes(body)
            MessageWriter.writeChunkTail(to: &encoded)
        }
        MessageWriter.writeLastChunk(to: &encoded)
        let again = chunkedTrace([encoded])
        try require(
            again.trace.body == body && again.left == 0 && again.trace.completeCount == 1, "re-encoded \(again)")
    }

    /// The ways of cutting that are tried: byte by byte for short inputs, at every LF, and at places that depend on the
    /// bytes.
    private static func cuts(for bytes: [UInt8]) -> [[Int]] {
        var cuts: [[Int]] = []
        if bytes.count <= 2048 { cuts.append(Array(0..<bytes.count)) }
        cuts.append(bytes.indices.filter { bytes[$0] == 0x0a })
        cuts.append(bytes.indices.filter { (Int(bytes[$0]) &* 31 &+ $0 &* 7) % 11 == 0 })
        return cuts
    }

    /// Feeds the heads in `bytes` line by line, as libcurl does.
    private static func checkLines(_ bytes: [UInt8], expecting heads: [TraceStep]) throws {
        var heads = heads[...]
        var parser = ResponseHeadParser()
        var start = 0
        while let expected = heads.first {
            guard let end = bytes[start...].firstIndex(of: 0x0a) else { throw InvariantViolation("a head without LF") }
            let event = try bytes[start...end].withUnsafeBytes { line in try parser.line(line) }
            start = end + 1
            switch event {
            case .interimHead(let head), .head(let head):
                try require(head.traced(nil) == expected, "\(head.traced(nil)) by lines, \(expected) from bytes")
                heads.removeFirst()
            case .statusLine, .field: continue
            case .trailer: throw InvariantViolation("a trailer before the head's end")
            }
        }
    }

    private static func checkFields(_ fields: [TracedField]) throws {
        for field in fields {
            let isToken = !field.name.isEmpty && field.name.allSatisfy { $0.isMember(of: .token) }
            try require(isToken, "name \(field.name)")
            try require(field.value.allSatisfy { $0.isMember(of: .fieldValue) }, "value \(field.value)")
            let ends = [field.value.first, field.value.last]
            try require(!ends.contains { $0 == 0x20 || $0 == 0x09 }, "untrimmed value \(field.value)")
        }
    }

    /// Writes an accepted head with ``MessageWriter``, and checks that it is parsed as the same head.
    private static func checkRewriting(
        _ step: TraceStep, _ method: [UInt8], _ target: [UInt8], _ fields: [TracedField]
    ) throws {
        var written = ByteBuffer()
        try method.withUnsafeBytes { method in
            try target.withUnsafeBytes { target in
                try MessageWriter.writeRequestLine(method: method, target: target, to: &written)
            }
        }
        for field in fields { try MessageWriter.writeField(name: field.name, value: field.value, to: &written) }
        MessageWriter.writeEndOfSection(to: &written)
        let again = requestTrace([written])
        // A head of HTTP/1.0 without Host is none of HTTP/1.1.
        guard case .requestHead(_, _, .http1_1, _, _) = step else { return }
        try require(again.steps.first == step, "rewritten: \(again)")
    }

    private static func matches(_ name: [UInt8], _ literal: StaticString) -> Bool {
        name.withUnsafeBytes { $0.equalsIgnoringCase(literal) }
    }
}
