import ForwardProxy
import Foundation
import ProxyTestKit
import Testing

@Suite("What a large mapped file is answered with from memory")
struct SealedAnswerTests {
    private static let text = String((0..<160_000).map { String($0 + 1_000_000) + "\n" }.joined().prefix(1_200_000))
    private static let head = "GET http://m.test/f.txt HTTP/1.1\r\nHost: m.test\r\n"

    private func proxy() throws -> TestProxy {
        try TestProxy("substitutions:\n  http://m.test/f.txt: f.txt\n", files: ["f.txt": Self.text])
    }

    /// The bodies of all responses that come, but for interim ones: those ask a client whether it is still there.
    private func bodies(on socket: Socket) throws -> [String] {
        let all = String(decoding: try socket.receiveAll(), as: UTF8.self).components(separatedBy: "HTTP/1.1 ")
        return all.dropFirst().filter { !$0.hasPrefix("102 ") }.map {
            $0.components(separatedBy: "\r\n\r\n").last ?? ""
        }
    }

    @Test("the first answer and those from memory are whole, pipelined ones in order")
    func pipelined() throws {
        let proxy = try proxy()
        #expect(try proxy.exchange("GET", "http://m.test/f.txt").body == Self.text)
        let socket = try proxy.connect()
        let part = "GET http://m.test/f.txt HTTP/1.1\r\nHost: m.test\r\nRange: bytes=0-9\r\n\r\n"
        try socket.send(String(repeating: "\(Self.head)\r\n\(part)", count: 5))
        socket.finish()
        let bodies = try bodies(on: socket)
        #expect(bodies.map(\.utf8.count) == (0..<10).map { $0.isMultiple(of: 2) ? 1_200_000 : 10 })
        #expect(bodies.allSatisfy(Self.text.hasPrefix))
    }

    @Test("requests that wait for the client to read are answered though it has closed its side meanwhile")
    func halfClosedWhileHeldBack() throws {
        let proxy = try proxy()
        _ = try proxy.exchange("GET", "http://m.test/f.txt")
        let socket = try Socket.connect(port: proxy.port, receiveBuffer: 4096)
        try socket.send(String(repeating: Self.head + "\r\n", count: 8))
        socket.finish()
        let bodies = try bodies(on: socket)
        #expect(bodies.map(\.utf8.count) == Array(repeating: 1_200_000, count: 8))
        #expect(bodies.allSatisfy { $0 == Self.text })
    }

    @Test(
        "ranges are those of the file",
        arguments: ["bytes=0-", "bytes=1-1199998", "bytes=700000-800000", "bytes=-100000", "bytes=5-9"])
    func ranges(range: String) throws {
        let proxy = try proxy()
        _ = try proxy.exchange("GET", "http://m.test/f.txt")
        let response = try proxy.exchange("GET", "http://m.test/f.txt", fields: ["Range: \(range)"])
        let named = try #require(
            response.field("Content-Range")?.split(separator: " ").last?.split(separator: "/").first)
        let bounds = named.split(separator: "-").compactMap { Int($0) }
        let bytes = Array(Self.text.utf8)
        #expect(response.status == 206)
        #expect(response.body == String(decoding: bytes[bounds[0]...bounds[1]], as: UTF8.self))
        #expect(response.field("Content-Length") == "\(bounds[1] - bounds[0] + 1)")
    }

    @Test("several large ranges come in their parts")
    func parts() throws {
        let proxy = try proxy()
        _ = try proxy.exchange("GET", "http://m.test/f.txt")
        let response = try proxy.exchange(
            "GET", "http://m.test/f.txt", fields: ["Range: bytes=0-99999,500000-599999"])
        let bytes = Array(Self.text.utf8)
        #expect(response.status == 206)
        #expect(response.field("Content-Length") == "\(response.body.utf8.count)")
        for range in [0..<100_000, 500_000..<600_000] {
            #expect(response.body.contains("\r\n\r\n\(String(decoding: bytes[range], as: UTF8.self))\r\n--"))
        }
    }

    @Test("a client that reads slowly gets the file as it was, whatever becomes of it meanwhile")
    func editedMeanwhile() throws {
        let proxy = try proxy()
        _ = try proxy.exchange("GET", "http://m.test/f.txt")
        let sockets = try (0..<8).map { _ in
            try Socket.connect(port: proxy.port, receiveBuffer: 4096)
        }
        for socket in sockets {
            try socket.send(Self.head + "Connection: close\r\n\r\n")
            _ = try socket.receive(until: "\r\n\r\n")
        }
        let handle = try FileHandle(forWritingTo: URL(filePath: "\(proxy.folder)/f.txt"))
        try handle.truncate(atOffset: 10)
        try handle.close()
        for socket in sockets {
            #expect(String(decoding: try socket.receiveAll(), as: UTF8.self) == Self.text)
        }
    }

    @Test("a client that goes away in the middle harms no other")
    func abandoned() throws {
        let proxy = try proxy()
        _ = try proxy.exchange("GET", "http://m.test/f.txt")
        for _ in 0..<8 {
            let socket = try Socket.connect(port: proxy.port, receiveBuffer: 4096)
            try socket.send(Self.head + "\r\n")
            _ = try socket.receive(until: "\r\n\r\n")
            socket.reset()
        }
        #expect(try proxy.exchange("GET", "http://m.test/f.txt").body == Self.text)
    }

    @Test("the log counts the bytes of bodies, of ranges too")
    func log() throws {
        let proxy = try proxy()
        for fields in [[], [], ["Range: bytes=100-99999"]] {
            _ = try proxy.exchange("GET", "http://m.test/f.txt", fields: fields)
        }
        let lines = try proxy.stopAndReadLog().split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.dropLast().allSatisfy { $0.contains("1.2MB") })
        #expect(lines.last?.contains("99.9kB") == true)
    }
}
