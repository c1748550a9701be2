import ProxyTestKit

/// Makes messages that are nearly right: a few bytes of a good one changed, doubled, dropped, or taken from another.
struct ByteMutation {
    private let corpus: [[UInt8]]
    private var generator: SeededGenerator

    /// Bytes and strings on which parsers of HTTP/1 differ.
    private static let fragments: [[UInt8]] = [
        "\r\n", "\n", "\r", "\0", " ", "\t", ":", ": ", ",", ";", "\"", "\\", "\r\n ", "\r\n\r\n", "0", "00", "-1",
        "+1",
        "0x10", "chunked", "Chunked", "identity", "gzip, chunked", "chunked, chunked", "Transfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\n", "Content-Length: 0\r\n", "Host: a\r\n", "Host: \r\n", "HTTP/1.0", "HTTP/1.1",
        "HTTP/1.2",
        "HTTP/2.0", "HTTP/0.9", "Connection: close\r\n", "Connection: upgrade\r\nUpgrade: x\r\n", "GET ", "POST ",
        "CONNECT ",
        "5;a=b\r\n", "5\r\nhello\r\n", "0\r\n\r\n", "0\r\nA: b\r\n\r\n", "ffffffffffffffff", "99999999999999999999",
        "*",
        "http://a/", "/", "//", "#f", "%00", "[::1]", "@", "\u{7f}", "é", "X-A : b\r\n", ": b\r\n", "X\r\n", "200",
        "HTTP/1.1 100 Continue\r\n\r\n",
    ].map { Array($0.utf8) }

    init(corpus: [[UInt8]], seed: UInt64) {
        self.corpus = corpus
        generator = SeededGenerator(seed: seed)
    }

    /// The next message.
    mutating func next() -> [UInt8] {
        var bytes = corpus.randomElement(using: &generator) ?? []
        for _ in 0..<Int.random(in: 0...4, using: &generator) { mutate(&bytes) }
        return bytes
    }

    /// Offsets to cut a message of `count` bytes at.
    mutating func cuts(of count: Int) -> [Int] {
        (0..<Int.random(in: 1...6, using: &generator)).map { _ in Int.random(in: 0...count, using: &generator) }
            .sorted()
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        let at = Int.random(in: 0...bytes.count, using: &generator)
        let length = Int.random(in: 0...min(12, bytes.count - at), using: &generator)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0, 1, 2:
            bytes.insert(contentsOf: ByteMutation.fragments.randomElement(using: &generator) ?? [], at: at)
        case 3:
            let fragment = ByteMutation.fragments.randomElement(using: &generator) ?? []
            bytes.replaceSubrange(at..<at + length, with: fragment)
        case 4: bytes.removeSubrange(at..<at + length)
        case 5: bytes.insert(contentsOf: Array(bytes[at..<at + length]), at: at)
        case 6 where at < bytes.count: bytes[at] = UInt8.random(in: 0...255, using: &generator)
        default:
            let other = corpus.randomElement(using: &generator) ?? []
            bytes.append(contentsOf: other.suffix(Int.random(in: 0...other.count, using: &generator)))
        }
    }
}
