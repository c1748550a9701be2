import Glibc

/// A response as a client of the proxy sees it.
public struct ProxyResponse: Sendable {
    /// The heads of the interim responses that came before.
    public var interim: [String] = []
    public var status: Int
    /// The status line and the field lines, without the empty line.
    public var head: String
    /// The body, chunked coding removed.
    public var body: [UInt8] = []
    /// Whether the body came to its end as its framing says.
    public var isComplete = true

    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The first value of a field; names are compared without case.
    public func field(_ name: String) -> String? {
        for line in head.split(separator: "\r\n").dropFirst() {
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else {
                continue
            }
            return line[line.index(after: colon)...].drop { $0 == " " }.description
        }
        return nil
    }
}

extension Socket {
    /// Sends a request in absolute-form, with a Host field and, for a body, its length.
    ///
    /// - Throws: ``Failure`` where it can't be sent, or not in time.
    public func sendRequest(
        _ method: String, _ url: String, version: String = "1.1", fields: [String] = [], body: String? = nil
    ) throws {
        let authority = url.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2).first ?? "unknown.test"
        var lines = ["\(method) \(url) HTTP/\(version)", "Host: \(authority)"] + fields
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        try send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
    }

    /// Reads the head of a response, and of the interim ones before it.
    ///
    /// - Throws: ``NoResponse`` where the connection ends before, ``Failure`` where it fails or nothing comes in time.
    public func receiveResponseHead() throws -> ProxyResponse {
        var interim: [String] = []
        while true {
            let head = String(decoding: try receive(until: "\r\n\r\n"), as: UTF8.self)
            guard head.hasSuffix("\r\n\r\n"),
                let status = head.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
            else { throw NoResponse(received: head) }
            if (100..<200).contains(status), status != 101 {
                interim.append(head)
                continue
            }
            return ProxyResponse(interim: interim, status: status, head: String(head.dropLast(2)))
        }
    }

    /// Reads a response to its end as RFC 9112 §6.3 frames it.
    ///
    /// - Throws: What ``receiveResponseHead()`` throws, and ``Failure`` for the body. One that ends early is no
    ///   failure, but not ``ProxyResponse/isComplete``.
    public func receiveResponse(to method: String = "GET") throws -> ProxyResponse {
        var response = try receiveResponseHead()
        guard method != "HEAD", response.status != 204, response.status != 304 else { return response }
        if let length = response.field("Content-Length").flatMap({ Int($0) }) {
            response.body = try receiveUpTo(length)
            response.isComplete = response.body.count == length
        } else if response.field("Transfer-Encoding")?.lowercased() == "chunked" {
            try receiveChunks(of: &response)
        } else {
            response.body = try receiveAll()
        }
        return response
    }

    private func receiveChunks(of response: inout ProxyResponse) throws {
        response.isComplete = false
        while true {
            let line = try receive(until: "\r\n")
            let digits = String(decoding: line.prefix { $0 != 0x0d && $0 != 0x3b }, as: UTF8.self)
            guard let size = Int(digits, radix: 16) else { return }
            if size == 0 {
                while case let line = try receive(until: "\r\n"), !line.isEmpty {
                    if line.count == 2 { return response.isComplete = true }
                }
                return
            }
            let chunk = try receiveUpTo(size)
            response.body += chunk
            guard chunk.count == size, try receive(exactly: 2).count == 2 else { return }
        }
    }

    /// Reads so many bytes, fewer at the end of input or at a reset.
    private func receiveUpTo(_ count: Int) throws -> [UInt8] {
        var all: [UInt8] = []
        while all.count < count {
            do {
                let bytes = try receive(min(65536, count - all.count))
                guard !bytes.isEmpty else { break }
                all += bytes
            } catch Failure.failed(_, code: ECONNRESET) {
                break
            }
        }
        return all
    }
}

/// What came is no response: the connection was closed or reset before a head was complete.
public struct NoResponse: Error {
    public var received: String
}
