import HTTP1
import HTTP1Invariants
import HTTPSemantics
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

/// A request as both parsers can tell it. Names and values are text, because NIOHTTP1 has no others: bytes that are not
/// UTF-8 are replaced in both.
private struct ComparedRequest: Equatable {
    var method: String
    var target: String
    var fields: [String]
    var body: [UInt8] = []
    var isComplete = false
}

/// Whatever our parser accepts, llhttp (as NIOHTTP1 has it) accepts with the same meaning.
///
/// The comparison ends at requests after which, or inside which, NIOHTTP1 goes its own way:
/// - it leaves whitespace at the end of values, which is no part of them (RFC 9110 §5.5);
/// - methods that are not in its list are errors to it;
/// - HTTP/1.2 to HTTP/1.9 are errors to it, where RFC 9110 §2.5 has them read as 1.1;
/// - after CONNECT, or an Upgrade that Connection names, it takes no further request;
/// - after a request whose connection does not persist (`close`, HTTP/1.0 without `keep-alive`), more bytes are an
///   error;
/// - a target that has none of the four forms of RFC 9112 §3.2 is an error to it; to us it is one after parsing, in
///   `RequestTarget`;
/// - HTAB after a Content-Length or a Transfer-Encoding is an error to it, SP is not;
/// - a scheme with anything but letters, a fragment after the authority, and bytes above 7F in a target are errors to
///   it.
@Suite("Beside llhttp")
struct LlhttpComparisonTests {
    @Test("every request that is accepted means the same", arguments: Array(1...8 as ClosedRange<UInt64>))
    func mutations(_ seed: UInt64) throws {
        var mutation = ByteMutation(corpus: RequestCorpus.all, seed: seed &* 1000)
        var compared = 0
        for _ in 0..<2500 {
            let bytes = mutation.next()
            let ours = ourRequests(bytes)
            guard !ours.isEmpty else { continue }
            let theirs = llhttpRequests(bytes)
            #expect(
                theirs.prefix(ours.count).elementsEqual(ours),
                "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            compared += ours.count
        }
        #expect(compared > 500)
    }

    @Test("the corpus means the same", arguments: RequestCorpus.all)
    func corpus(_ bytes: [UInt8]) {
        let ours = ourRequests(bytes)
        #expect(llhttpRequests(bytes).prefix(ours.count).elementsEqual(ours))
    }

    /// Our complete requests, up to one after which they can't be compared.
    private func ourRequests(_ bytes: [UInt8]) -> [ComparedRequest] {
        var requests: [ComparedRequest] = []
        var parser = RequestParser()
        var buffer = ByteBuffer(bytes: bytes)
        parser.feed(&buffer)
        var isLast = false
        while !isLast || requests.last?.isComplete == false, let event = try? parser.next() {
            switch event {
            case .head(let head, _):
                guard isComparable(head) else { return requests }
                let options = HopByHop(head.fields).options
                isLast =
                    head.method == .connect || head.fields.contains(.upgrade) || !options.persists(head.version)
                let fields = head.fields.traced.map { "\(text($0.name)): \(text($0.value))" }
                requests.append(
                    ComparedRequest(method: text(head.methodBytes), target: text(head.targetBytes), fields: fields))
            case .body(let piece): requests[requests.count - 1].body.append(contentsOf: Array(buffer: piece))
            case .end: requests[requests.count - 1].isComplete = true
            }
        }
        // Of a body that is not complete, the pieces seen may differ.
        if requests.last?.isComplete == false { requests.removeLast() }
        return requests
    }

    private func isComparable(_ head: RequestHead) -> Bool {
        let target = head.targetBytes
        guard (try? RequestTarget(head)) != nil, target.allSatisfy({ $0 < 0x80 && $0 != UInt8(ascii: "#") }) else {
            return false
        }
        if target.first != UInt8(ascii: "/"), target.first != UInt8(ascii: "*"), head.method != .connect {
            let scheme = target.prefix { $0 != UInt8(ascii: ":") }
            guard scheme.allSatisfy({ $0.isMember(of: .alpha) }) else { return false }
        }
        for line in head.fields.lines where line.name == .contentLength || line.name == .transferEncoding {
            let rest = Array(buffer: head.bytes)[line.valueRange.upperBound...]
            guard !rest.prefix(while: { $0 != 0x0d }).contains(0x09) else { return false }
        }
        let line = Array(buffer: head.bytes).prefix { $0 != 0x0d }
        guard line.last == UInt8(ascii: "0") || line.last == UInt8(ascii: "1") else { return false }
        if case .RAW = HTTPMethod(rawValue: text(head.methodBytes)) { return false }
        return true
    }

    /// The requests that NIOHTTP1 decodes from `bytes` in one piece, the last one perhaps without its end.
    private func llhttpRequests(_ bytes: [UInt8]) -> [ComparedRequest] {
        let channel = EmbeddedChannel(
            handler: ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
        var requests: [ComparedRequest] = []
        while let part = try? channel.readInbound(as: HTTPServerRequestPart.self) {
            switch part {
            case .head(let head):
                let fields = head.headers.map { "\($0.name): \(trimmed($0.value))" }
                requests.append(ComparedRequest(method: head.method.rawValue, target: head.uri, fields: fields))
            case .body(let piece): requests[requests.count - 1].body.append(contentsOf: Array(buffer: piece))
            case .end: requests[requests.count - 1].isComplete = true
            }
        }
        return requests
    }

    private func trimmed(_ value: String) -> String {
        text(Array(value.utf8).withUnsafeBytes { Array($0.trimmingOptionalWhitespace) })
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
