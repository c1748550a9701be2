/// Reads the host that a client asks for in TLS (server_name, RFC 6066 §3) from the first bytes of its connection,
/// whatever records they are cut into.
///
/// It skips what the TLS library skips in front of a ClientHello, empty records and warnings, and accepts only a
/// ClientHello that is well-formed to its last byte (RFC 8446 §4.1.2).
public struct ClientHelloReader: Sendable {
    /// What is known of the host after the bytes that have been read.
    public enum Verdict: Equatable, Sendable {
        /// More bytes are needed.
        case incomplete
        /// The client names no host.
        case noName
        /// The host, as the client has sent it.
        case name([UInt8])
        /// The bytes are no ClientHello.
        case malformed
    }

    /// The longest message that the TLS library takes, in bytes.
    static let messageLimit = 16 << 10
    private static let alert: UInt8 = 21
    private static let handshake: UInt8 = 22

    /// What the bytes say so far.
    public private(set) var verdict = Verdict.incomplete
    private var header: [UInt8] = []
    /// Bytes of the present record that have not come yet.
    private var recordLeft = 0
    private var message: [UInt8] = []

    /// A reader at the start of a connection.
    public init() {}

    /// Reads on; once there is a verdict, further bytes change nothing.
    public mutating func read(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while verdict == .incomplete, !rest.isEmpty {
            if recordLeft == 0 {
                let part = rest.prefix(5 &- header.count)
                header += part
                rest = rest.dropFirst(part.count)
                if header.count == 5 { beginRecord() }
            } else {
                let part = rest.prefix(recordLeft)
                if header[0] == ClientHelloReader.handshake { message += part }
                rest = rest.dropFirst(part.count)
                recordLeft &-= part.count
                if recordLeft == 0 { header.removeAll(keepingCapacity: true) }
                judge()
            }
        }
    }

    private mutating func beginRecord() {
        recordLeft = Int(header[3]) << 8 | Int(header[4])
        let isRead = header[0] == ClientHelloReader.handshake
        // A warning is two bytes; whether it is one, the TLS library sees.
        let isSkipped = header[0] == ClientHelloReader.alert && recordLeft == 2 && message.isEmpty
        guard header[1] == 3, isRead || isSkipped else {
            verdict = .malformed
            return
        }
        if recordLeft == 0 { header.removeAll(keepingCapacity: true) }
    }

    private mutating func judge() {
        guard message.count >= 4 else { return }
        let length = Int(message[1]) << 16 | Int(message[2]) << 8 | Int(message[3])
        guard message[0] == 1, length <= ClientHelloReader.messageLimit else {
            verdict = .malformed
            return
        }
        guard message.count >= 4 &+ length else { return }
        verdict = ClientHelloReader.verdict(on: message[4..<4 &+ length])
        message = []
    }

    /// What a ClientHello says, its type and length aside.
    private static func verdict(on body: ArraySlice<UInt8>) -> Verdict {
        var body = Vector(body)
        // legacy_version and random.
        guard body.skip(34), body.vector(1) != nil, body.vector(2) != nil, body.vector(1) != nil else {
            return .malformed
        }
        guard !body.isEmpty else { return .noName }
        guard var extensions = body.vector(2), body.isEmpty else { return .malformed }
        var found: Verdict?
        while !extensions.isEmpty {
            guard let type = extensions.number(2), let content = extensions.vector(2) else { return .malformed }
            guard type == 0 else { continue }
            guard found == nil, let name = serverName(content) else { return .malformed }
            found = .name(name)
        }
        return found ?? .noName
    }

    /// The one name of the list, which no client makes longer.
    private static func serverName(_ content: Vector) -> [UInt8]? {
        var content = content
        guard var list = content.vector(2), content.isEmpty, list.number(1) == 0, let name = list.vector(2),
            list.isEmpty, !name.isEmpty
        else { return nil }
        return Array(name.bytes)
    }
}

/// Bytes that are read from the front, as TLS writes them (RFC 8446 §3).
private struct Vector {
    private(set) var bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    var isEmpty: Bool { bytes.isEmpty }

    mutating func skip(_ count: Int) -> Bool {
        guard bytes.count >= count else { return false }
        bytes = bytes.dropFirst(count)
        return true
    }

    /// A number of one or two bytes.
    mutating func number(_ size: Int) -> Int? {
        guard bytes.count >= size else { return nil }
        let number = bytes.prefix(size).reduce(0) { $0 << 8 | Int($1) }
        bytes = bytes.dropFirst(size)
        return number
    }

    /// Bytes with their length in front, which takes `size` bytes itself.
    mutating func vector(_ size: Int) -> Vector? {
        guard let count = number(size), bytes.count >= count else { return nil }
        defer { bytes = bytes.dropFirst(count) }
        return Vector(bytes.prefix(count))
    }
}
