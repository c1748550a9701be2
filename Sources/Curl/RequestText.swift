import CCurl
import Glibc

/// The texts of one request as libcurl takes them: method, target and field lines, each with a NUL behind it.
///
/// Belongs to an easy handle, which uses it again for each transfer: the texts lie in one block of memory, and the list
/// of lines (CURLOPT_HTTPHEADER) is made of nodes that point into it, so that a request allocates nothing.
final class RequestText {
    private var block = UnsafeMutablePointer<CChar>.allocate(capacity: 4096)
    private var capacity = 4096
    private var count = 0
    private var nodes = UnsafeMutablePointer<curl_slist>.allocate(capacity: 32)
    private var nodeCapacity = 32

    private(set) var method: UnsafePointer<CChar>
    private(set) var target: UnsafePointer<CChar>
    private(set) var lines: UnsafeMutablePointer<curl_slist>?

    init() {
        method = UnsafePointer(block)
        target = UnsafePointer(block)
    }

    deinit {
        block.deallocate()
        nodes.deallocate()
    }

    /// Lays out a request.
    ///
    /// - Parameter isAbsolute: whether the target is sent in absolute-form, as an HTTP proxy needs it (RFC 9112
    ///   §3.2.2); libcurl does not make it of CURLOPT_REQUEST_TARGET.
    /// - Returns: false where a text holds a byte that would end it, or its line, early.
    func lay(_ request: TransferRequest, isAbsolute: Bool) -> Bool {
        reserve(request)
        count = 0
        lines = nil
        method = UnsafePointer(block)
        guard !request.method.isEmpty, appendWord(request.method) else { return false }
        target = UnsafePointer(block + count)
        if isAbsolute { appendOrigin(request) }
        if isAbsolute, request.pathAndQuery == [0x2a] {
            // RFC 9112 §3.2.4: OPTIONS * has an empty path in absolute-form.
            terminate()
        } else if request.pathAndQuery.isEmpty {
            append(0x2f)
            terminate()
        } else if !appendWord(request.pathAndQuery) {
            return false
        }
        return layLines(request.lines)
    }

    // MARK: Lines

    private func layLines(_ lines: RequestLines) -> Bool {
        guard !lines.isBroken else { return false }
        var node = 0
        // libcurl waits for 100 by itself where it sees an Expect line, and sends the request again, without the
        // line, where 417 comes: the client would get two responses. So it must not see it: the line goes out in
        // the same list entry as the line before it, and the waiting is done here.
        var expect: [[UInt8]] = []
        let areLaid = lines.allSatisfy { line in
            if RequestText.isExpect(line) {
                if node > 0 { return glue(line, to: node - 1) }
                expect.append(Array(line))
                return true
            }
            guard appendLine(line, node) else { return false }
            node += 1
            guard !expect.isEmpty else { return true }
            defer { expect = [] }
            return expect.allSatisfy { $0.withUnsafeBytes { glue($0, to: node - 1) } }
        }
        guard areLaid else { return false }
        for line in expect {
            guard line.withUnsafeBytes({ appendLine($0, node) }) else { return false }
            node += 1
        }
        for index in 0..<node {
            nodes[index].next = index + 1 < node ? nodes + index + 1 : RequestText.suppressed
        }
        self.lines = node > 0 ? nodes : RequestText.suppressed
        return true
    }

    private func appendLine(_ line: UnsafeRawBufferPointer, _ node: Int) -> Bool {
        guard let colon = RequestText.colon(in: line), colon > 0 else { return false }
        nodes[node].data = block + count
        var end = line.count
        while end > colon + 1, line[end - 1] == 0x20 || line[end - 1] == 0x09 { end -= 1 }
        guard end == colon + 1 else { return appendText(line) }
        // libcurl takes "Name:" for the wish to leave a field out, and sends "Name;" as "Name:".
        guard appendBytes(UnsafeRawBufferPointer(rebasing: line[..<colon])) else { return false }
        append(0x3b)
        terminate()
        return true
    }

    /// Adds a line to the entry that was laid last.
    private func glue(_ line: UnsafeRawBufferPointer, to node: Int) -> Bool {
        guard RequestText.colon(in: line) != nil else { return false }
        count -= 1
        if let start = nodes[node].data, strchr(start, 0x3a) == nil { block[count - 1] = 0x3a }
        append(0x0d)
        append(0x0a)
        return appendText(line)
    }

    /// `Expect` in any case, before its colon.
    private static func isExpect(_ line: UnsafeRawBufferPointer) -> Bool {
        guard line.count > 6, line[6] == 0x3a, line[0] | 0x20 == 0x65 else { return false }
        return zip(line, "expect".utf8).allSatisfy { $0 | 0x20 == $1 }
    }

    private static func colon(in line: UnsafeRawBufferPointer) -> Int? {
        guard let start = line.baseAddress, let colon = memchr(start, 0x3a, line.count) else { return nil }
        return UnsafeRawPointer(colon) - start
    }

    /// Names without values, which keep libcurl from adding these fields by itself; behind all lines, so that a line of
    /// the caller's with such a name is found first. Never freed and never changed.
    nonisolated(unsafe) private static let suppressed: UnsafeMutablePointer<curl_slist>? = {
        var list: UnsafeMutablePointer<curl_slist>?
        for name in ["Accept:", "User-Agent:", "Expect:", "Content-Type:", "Proxy-Connection:"] {
            list = curl_slist_append(list, name) ?? list
        }
        return list
    }()

    // MARK: Bytes

    private func reserve(_ request: TransferRequest) {
        var needed = request.method.count + request.pathAndQuery.count + request.host.utf8.count + 32
        // An end of a line takes two bytes where it stands within an entry.
        needed += request.lines.byteCount + 2 * request.lines.count
        if needed > capacity {
            block.deallocate()
            capacity = needed
            block = .allocate(capacity: capacity)
        }
        if request.lines.count > nodeCapacity {
            nodes.deallocate()
            nodeCapacity = request.lines.count
            nodes = .allocate(capacity: nodeCapacity)
        }
    }

    private func append(_ byte: CChar) {
        block[count] = byte
        count += 1
    }

    private func terminate() { append(0) }

    /// `http://host:port` without the default port.
    private func appendOrigin(_ request: TransferRequest) {
        for byte in "http://".utf8 { append(CChar(bitPattern: byte)) }
        for byte in request.host.utf8 { append(CChar(bitPattern: byte)) }
        guard request.port != 80 else { return }
        append(0x3a)
        var divisor: UInt16 = 10_000
        while divisor > 1, request.port / divisor == 0 { divisor /= 10 }
        while divisor > 0 {
            append(CChar(0x30 + request.port / divisor % 10))
            divisor /= 10
        }
    }

    private func appendBytes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress else { return true }
        let end = bytes.count
        guard memchr(start, 0, end) == nil, memchr(start, 0x0d, end) == nil, memchr(start, 0x0a, end) == nil else {
            return false
        }
        UnsafeMutableRawPointer(block + count).copyMemory(from: start, byteCount: end)
        count += end
        return true
    }

    private func appendText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard appendBytes(bytes) else { return false }
        terminate()
        return true
    }

    /// Text without the spaces and controls that would end a word of the request line.
    private func appendWord(_ bytes: [UInt8]) -> Bool {
        guard bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else { return false }
        return bytes.withUnsafeBytes { appendText($0) }
    }
}
