import ForwardProxy
import Foundation
import Logging
import NIOCore
import ProxyTestKit
import Substitution
import Synchronization

/// A proxy in this process, with a map of a test's own in a fresh folder; it ends with the object.
final class TestProxy {
    let server: ProxyServer
    let port: UInt16
    let folder: String
    private let log: Pipe

    /// - Parameters:
    ///   - map: the map's text; `root` is the fresh folder.
    ///   - files: names and contents of files in the folder.
    init(
        _ map: String = "substitutions:\n  http://unused.test/: { text: unused }\n", files: [String: String] = [:],
        configure: (inout ProxyConfiguration) -> Void = { _ in }
    ) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "subproxy-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, content) in files {
            let parent = URL(filePath: "\(folder)/\(name)").deletingLastPathComponent()
            try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
            try content.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
        }
        let path = "\(folder)/m.yaml"
        try map.write(toFile: path, atomically: true, encoding: .utf8)
        let loaded = SubstitutionMap.load(files: [path])
        guard let map = loaded.map else {
            throw TestFailure(loaded.diagnostics.map(\.rendering).joined(separator: "\n"))
        }
        var configuration = ProxyConfiguration()
        configuration.listeners = [try SocketAddress(ipAddress: "127.0.0.1", port: 0)]
        configuration.threads = 1
        configuration.limits.shutdownGrace = .milliseconds(200)
        // No test is about these limits where it doesn't set them, however slow the machine is, or its name server.
        configuration.limits.connectTimeout = .minutes(10)
        configuration.limits.silenceTimeout = .minutes(10)
        configuration.limits.headerTimeout = .minutes(10)
        configuration.limits.collapseTimeout = .minutes(10)
        configure(&configuration)
        log = Pipe()
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        server = try ProxyServer(
            configuration: configuration, map: map,
            logSink: try LogSink(.descriptor(log.fileHandleForWriting.fileDescriptor)), logger: logger)
        port = UInt16(server.addresses.first?.port ?? 0)
    }

    deinit {
        server.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Writes a file in the map's folder.
    func write(_ content: String, to name: String) throws {
        try content.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
    }

    func connect(seconds: Int = Int(Wait.limit)) throws -> Socket { try Socket.connect(port: port, seconds: seconds) }

    /// Sends a request with `Connection: close` and reads the response to its end.
    func exchange(
        _ method: String = "GET", _ url: String, fields: [String] = [], body: String? = nil
    ) throws -> TestResponse {
        let socket = try connect()
        var lines = ["\(method) \(url) HTTP/1.1", "Host: ignored.test", "Connection: close"] + fields
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        try socket.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
        return TestResponse(try socket.receiveAll())
    }

    /// Stops the server and reads the access log.
    func stopAndReadLog() throws -> String {
        server.stop()
        try log.fileHandleForWriting.close()
        let descriptor = log.fileHandleForReading.fileDescriptor
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(descriptor, &chunk, chunk.count), count > 0 { text += chunk[..<count] }
        return String(decoding: text, as: UTF8.self)
    }
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A response as its bytes.
struct TestResponse {
    let status: Int
    let head: String
    let body: String
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))
        head = String(decoding: bytes[..<(end?.lowerBound ?? bytes.endIndex)], as: UTF8.self)
        body = String(decoding: bytes[(end?.upperBound ?? bytes.endIndex)...], as: UTF8.self)
        status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    }

    /// The values of a field, joined by `, ` where it is repeated.
    func field(_ name: String) -> String? {
        let values = head.split(separator: "\r\n").dropFirst().compactMap { line -> String? in
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else {
                return nil
            }
            return line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}
