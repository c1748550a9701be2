import NIOCore
import TLSTermination
import Testing

@Suite("The host that a client asks for in TLS")
struct ClientHelloReaderTests {
    private static func number(_ value: Int, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    private static func vector(_ bytes: [UInt8], _ size: Int) -> [UInt8] { number(bytes.count, size) + bytes }

    private static func names(_ names: [UInt8]...) -> [UInt8] {
        [0, 0] + vector(vector(names.flatMap { [0] + vector($0, 2) }, 2), 2)
    }

    private static func hello(_ extensions: [UInt8]?, more: [UInt8] = []) -> [UInt8] {
        let start = [3, 3] + [UInt8](repeating: 7, count: 32) + vector([1, 2, 3], 1)
        let body = start + vector([0xc0, 0x2b], 2) + [1, 0] + (extensions.map { vector($0, 2) } ?? []) + more
        return [1] + vector(body, 3)
    }

    private static func records(_ message: [UInt8], of size: Int = 16384) -> [UInt8] {
        stride(from: 0, to: message.count, by: size).flatMap { start in
            [22, 3, 1] + vector(Array(message[start..<min(start + size, message.count)]), 2)
        }
    }

    private static func verdict(_ bytes: [UInt8], at once: Int = .max) -> ClientHelloReader.Verdict {
        var reader = ClientHelloReader()
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(once))
            part.withUnsafeBytes { reader.read($0) }
            rest = rest.dropFirst(part.count)
        }
        return reader.verdict
    }

    private static let name = Array("host.test".utf8)
    private static let good = hello([0, 10] + vector([1, 2], 2) + names(name) + [0, 43] + vector([2, 3, 4], 2))

    @Test("The name is found in every cut into records and reads")
    func cuts() {
        for size in 1...Self.good.count {
            #expect(Self.verdict(Self.records(Self.good, of: size)) == .name(Self.name), "records of \(size)")
        }
        for once in [1, 2, 3, 5, 7, 64] {
            #expect(Self.verdict(Self.records(Self.good, of: 3), at: once) == .name(Self.name), "reads of \(once)")
        }
        #expect(Self.verdict(Self.records(Self.good + [22, 0, 0])) == .name(Self.name))
    }

    @Test("Nothing is said before the last byte has come")
    func incomplete() {
        let bytes = Self.records(Self.good, of: 40)
        for count in 0..<bytes.count { #expect(Self.verdict(Array(bytes.prefix(count))) == .incomplete) }
    }

    @Test("Empty records and warnings in front and between change nothing")
    func skipped() {
        let empty: [UInt8] = [22, 3, 1, 0, 0]
        let warning: [UInt8] = [21, 3, 1, 0, 2, 1, 90]
        let halves = [Self.records(Array(Self.good.prefix(30))), Self.records(Array(Self.good.dropFirst(30)))]
        #expect(Self.verdict(empty + warning + empty + halves[0] + empty + halves[1]) == .name(Self.name))
        // Between the parts of a message a warning has no place.
        #expect(Self.verdict(halves[0] + warning + halves[1]) == .malformed)
    }

    @Test(
        "A ClientHello without a name is one, also without extensions",
        arguments: [hello(nil), hello([]), hello([0, 10] + vector([1, 2], 2))])
    func noName(message: [UInt8]) { #expect(Self.verdict(Self.records(message, of: 9)) == .noName) }

    @Test(
        "What is not a ClientHello to the last byte is malformed",
        arguments: [
            hello([0, 10, 0, 9, 1]), hello(names(name), more: [0]), hello(names(name) + names(name)),
            hello(names(name, name)), hello(names([])), hello([0, 0] + vector([0, 12, 1] + vector(name, 2), 2)),
            hello([0, 0] + vector([0, 20, 0] + vector(name, 2), 2)), hello([0, 0, 0, 0]),
            [1, 0, 0, 3, 3, 3, 0], [2] + good.dropFirst(), [1, 0, 0, 0], [1, 0, 0x40, 1],
        ] as [[UInt8]])
    func malformed(message: [UInt8]) {
        #expect(Self.verdict(Self.records(message)) == .malformed)
        #expect(Self.verdict(Self.records(message, of: 1)) == .malformed)
    }

    @Test(
        "Other records are no beginning",
        arguments: [
            Array("GET / HTTP/1.1\r\n".utf8), [0x80, 0x2e, 1, 0, 2, 0], [23, 3, 3, 0, 1, 0], [20, 3, 3, 0, 1, 1],
            [22, 2, 0, 0, 1, 1], [21, 3, 1, 0, 3, 1, 0, 0],
        ] as [[UInt8]])
    func otherRecords(bytes: [UInt8]) { #expect(Self.verdict(bytes) == .malformed) }
}
