import HTTP1
import HTTPSemantics
import NIOCore
import Testing

@testable import ForwardProxy

extension Request {
    /// A request as it is parsed.
    ///
    /// - Parameter fields: lines without CRLF, beside Host.
    init(_ method: String, _ url: String, _ fields: [String] = []) throws {
        var parser = RequestParser()
        parser.feed(
            ByteBuffer(
                string: (["\(method) \(url) HTTP/1.1", "Host: x"] + fields + ["", ""]).joined(separator: "\r\n")))
        var framing = BodyFraming.none
        let head = try #require(try parser.nextHead(&framing))
        self.init(head: head, bodyLength: framing == .none ? 0 : 5, receivedAt: 0)
    }
}

extension FieldSection {
    /// - Parameter lines: `Name: value`.
    init(lines: [String]) {
        self.init()
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { continue }
            append(name: line[..<colon].utf8, value: line[colon...].dropFirst(2).utf8)
        }
    }
}
