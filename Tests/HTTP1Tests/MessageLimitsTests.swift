import HTTP1
import HTTP1Invariants
import HTTPSemantics
import NIOCore
import Testing

@Suite("The limits of messages")
struct MessageLimitsTests {
    /// A request that is `excess` bytes over what `limits` allow somewhere, and the error expected where it is over.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var limits = MessageLimits()
        var error: HTTP1Error
        var text: @Sendable (_ excess: Int) -> String
    }

    private static let start = "POST / HTTP/1.1\r\nHost: a\r\n"
    private static let chunked = "\(start)Transfer-Encoding: chunked\r\n\r\n"

    private static func filler(_ count: Int, _ text: String = "a") -> String { String(repeating: text, count: count) }

    static let cases: [Case] = [
        Case(testDescription: "method", error: .methodTooLong) {
            "\(filler(64 + $0, "M")) / HTTP/1.1\r\nHost: a\r\n\r\n"
        },
        Case(testDescription: "target", error: .targetTooLong) {
            "GET /\(filler((32 << 10) - 1 + $0)) HTTP/1.1\r\nHost: a\r\n\r\n"
        },
        Case(testDescription: "header section, by a value", error: .headerSectionTooLarge) {
            // "Host: a\r\n", "X: " and "\r\n\r\n" are 16 bytes.
            "GET / HTTP/1.1\r\nHost: a\r\nX: \(filler((64 << 10) - 16 + $0))\r\n\r\n"
        },
        Case(testDescription: "header section, by a name", error: .headerSectionTooLarge) {
            "GET / HTTP/1.1\r\nHost: a\r\n\(filler((64 << 10) - 15 + $0)): \r\n\r\n"
        },
        Case(testDescription: "fields", error: .tooManyFields) { "\(start)\(filler(199 + $0, "X: y\r\n"))\r\n" },
        Case(testDescription: "trailer section", error: .trailerSectionTooLarge) {
            "\(chunked)0\r\nX: \(filler((16 << 10) - 7 + $0))\r\n\r\n"
        },
        Case(testDescription: "trailer fields", error: .tooManyTrailerFields) {
            "\(chunked)0\r\n\(filler(64 + $0, "X: y\r\n"))\r\n"
        },
        Case(testDescription: "chunk extensions, of one chunk", error: .chunkExtensionsTooLarge) {
            "\(chunked)5;\(filler((16 << 10) + $0))\r\nhello\r\n0\r\n\r\n"
        },
        Case(testDescription: "chunk extensions, of many chunks", error: .chunkExtensionsTooLarge) {
            "\(chunked)\(filler(1 << 10, "1;abcdefghijklmnop\r\nx\r\n"))0\(filler(min($0, 1), ";a"))\r\n\r\n"
        },
        Case(testDescription: "digits of a chunk size", error: .invalidChunkSize) {
            "\(chunked)\(filler(63 + $0, "0"))5\r\nhello\r\n0\r\n\r\n"
        },
        Case(
            testDescription: "limits of one's own",
            limits: MessageLimits(headerSectionBytes: 100, fieldCount: 2, targetBytes: 10), error: .targetTooLong
        ) { "GET /\(filler(9 + $0)) HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n" },
        Case(
            testDescription: "fields, of one's own", limits: MessageLimits(fieldCount: 2), error: .tooManyFields
        ) { "GET / HTTP/1.1\r\nHost: a\r\n\(filler(1 + $0, "X: y\r\n"))\r\n" },
    ]

    @Test("let pass what reaches them and refuse what is a byte, a field or a digit over", arguments: cases)
    func limits(_ limitCase: Case) {
        let exact = parseInEachWay(Array(limitCase.text(0).utf8), limits: limitCase.limits)
        #expect(exact.error == nil && exact.completeCount == 1)
        let over = parseInEachWay(Array(limitCase.text(1).utf8), limits: limitCase.limits)
        #expect(over.error == limitCase.error)
    }

    static let unfinished: [Case] = [
        Case(testDescription: "method", error: .methodTooLong) { filler(64 + $0, "A") },
        Case(testDescription: "target", error: .targetTooLong) { "GET \(filler((32 << 10) + $0))" },
        Case(testDescription: "name", error: .headerSectionTooLarge) {
            "GET / HTTP/1.1\r\n\(filler((64 << 10) - 1 + $0))"
        },
        Case(testDescription: "value", error: .headerSectionTooLarge) {
            "GET / HTTP/1.1\r\nX: \(filler((64 << 10) - 4 + $0))"
        },
        Case(testDescription: "fields", error: .tooManyFields) {
            "GET / HTTP/1.1\r\n\(filler(200, "X: y\r\n"))\(filler($0, "X"))"
        },
    ]

    @Test("are noticed as soon as they are passed, without the end of the line", arguments: unfinished)
    func earliest(_ limitCase: Case) throws {
        let text = limitCase.text(1)
        var parser = RequestParser()
        var buffer = ByteBuffer(string: limitCase.text(0))
        #expect(buffer.readableBytes == text.utf8.count - 1)
        parser.feed(&buffer)
        #expect(try parser.next() == nil)
        buffer = ByteBuffer(string: String(text.suffix(1)))
        parser.feed(&buffer)
        #expect(throws: limitCase.error) { try parser.next() }
        #expect(!parser.hasBufferedBytes)
    }

    @Test("make the same of what is far over them, whatever comes first")
    func farOver() {
        #expect(parse(String(repeating: "A", count: 200_000)).error == .methodTooLong)
        #expect(
            parse("GET /\(String(repeating: "A", count: 100_000)) HTTP/1.1\r\nHost: a\r\n\r\n").error == .targetTooLong)
        let big = String(repeating: "A", count: 70_000)
        #expect(parse("GET / HTTP/1.1\r\nHost: a\r\nX-Big: \(big)\r\n\r\n").error == .headerSectionTooLarge)
        #expect(parse("GET / HTTP/1.1\r\nHost: a\r\n\(big): v\r\n\r\n").error == .headerSectionTooLarge)
        let many = (0..<10).map { "X-\($0): \(String(repeating: "B", count: 16_000))\r\n" }.joined()
        #expect(parse("GET / HTTP/1.1\r\nHost: a\r\n\(many)\r\n").error == .headerSectionTooLarge)
    }

    @Test("hold for names even where a section may be larger than their length can say")
    func longNames() {
        let limits = MessageLimits(headerSectionBytes: 1 << 20)
        let name = String(repeating: "a", count: 70_000)
        #expect(
            parseInEachWay(Array("GET / HTTP/1.1\r\nHost: a\r\n\(name): b\r\n\r\n".utf8), limits: limits).error
                == .headerSectionTooLarge)
        #expect(parse("GET / HTTP/1.1\r\nHost: a\r\nX: \(name)\r\n\r\n", limits: limits).error == nil)
    }

    @Test("hold for responses")
    func responses() {
        func error(_ text: String, _ limits: MessageLimits = MessageLimits()) -> HTTP1Error? {
            responseTrace([ByteBuffer(string: text)], to: .get, limits: limits).error
        }
        let fields = { (count: Int) in String(repeating: "X: y\r\n", count: count) }
        #expect(error("HTTP/1.1 204 x\r\n\(fields(200))\r\n") == nil)
        #expect(error("HTTP/1.1 204 x\r\n\(fields(201))\r\n") == .tooManyFields)
        #expect(error("HTTP/1.1 204 x\r\nX: \(String(repeating: "a", count: 65_529))\r\n\r\n") == nil)
        #expect(
            error("HTTP/1.1 204 x\r\nX: \(String(repeating: "a", count: 65_530))\r\n\r\n") == .headerSectionTooLarge)
        #expect(error("HTTP/1.1 204 \(String(repeating: "a", count: 1024))\r\n\r\n") == nil)
        #expect(error("HTTP/1.1 204 \(String(repeating: "a", count: 1025))\r\n\r\n") == .headerSectionTooLarge)
        #expect(error("HTTP/1.1 204 x\r\n\(fields(3))\r\n", MessageLimits(fieldCount: 2)) == .tooManyFields)
    }
}
