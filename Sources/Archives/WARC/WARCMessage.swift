import HTTPSemantics

/// The header block of a record that is written.
struct RecordHeadText {
    private var text: [UInt8]

    init(type: String, id: String, time: Int64) {
        text = Array("WARC/1.1\r\nWARC-Type: \(type)\r\nWARC-Record-ID: \(id)\r\n".utf8)
        add("WARC-Date", RecordTime.text(time))
    }

    mutating func add(_ name: String, _ value: String) { add(name, Array(value.utf8)) }

    mutating func add(_ name: String, _ value: [UInt8]) {
        text += Array("\(name): ".utf8) + WARCMessage.line(value) + [0x0D, 0x0A]
    }

    func bytes(contentLength: Int) -> [UInt8] { text + Array("Content-Length: \(contentLength)\r\n\r\n".utf8) }
}

/// Messages of HTTP/1.1 as WARC has them.
enum WARCMessage {
    static func requestHead(_ exchange: RecordedExchange) -> [UInt8] {
        var head = line(Array(exchange.method.utf8)) + [0x20] + line(target(exchange.url)) + Array(" HTTP/1.1\r\n".utf8)
        if !exchange.requestFields.contains(where: { $0.isNamed("host") }) {
            append(RecordedField(Array("Host".utf8), authority(exchange.url)), to: &head)
        }
        for field in exchange.requestFields where !isOfTransfer(field) { append(field, to: &head) }
        return head + [0x0D, 0x0A]
    }

    static func responseHead(_ exchange: RecordedExchange) -> [UInt8] {
        var head = Array("HTTP/1.1 \(exchange.status) ".utf8) + line(exchange.reason) + [0x0D, 0x0A]
        for field in exchange.fields where !isOfTransfer(field) { append(field, to: &head) }
        return head + [0x0D, 0x0A]
    }

    /// Nothing of a value ends its line.
    static func line(_ value: [UInt8]) -> [UInt8] { value.map { $0 == 0x0D || $0 == 0x0A || $0 == 0 ? 0x20 : $0 } }

    private static func append(_ field: RecordedField, to head: inout [UInt8]) {
        // HTTP/2's pseudo fields stand in the first line.
        guard !field.name.isEmpty, field.name.allSatisfy({ $0.isMember(of: .token) }) else { return }
        head += field.name + [UInt8(ascii: ":"), 0x20] + line(field.value) + [0x0D, 0x0A]
    }

    private static func isOfTransfer(_ field: RecordedField) -> Bool {
        field.isNamed("transfer-encoding") || field.isNamed("trailer")
    }

    private static func start(ofAuthority url: [UInt8]) -> Int {
        let mark = Array("://".utf8)
        for index in url.indices where url[index...].starts(with: mark) { return index + mark.count }
        return 0
    }

    /// Path and query of a URL.
    private static func target(_ url: [UInt8]) -> [UInt8] {
        let rest = url[start(ofAuthority: url)...].drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        let path = rest.first == UInt8(ascii: "/") ? Array(rest) : [UInt8(ascii: "/")] + rest
        return path.map { $0 == 0x20 ? UInt8(ascii: "+") : $0 }
    }

    private static func authority(_ url: [UInt8]) -> [UInt8] {
        let rest = url[start(ofAuthority: url)...].prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return Array(rest.lastIndex(of: UInt8(ascii: "@")).map { rest[($0 + 1)...] } ?? rest)
    }
}
