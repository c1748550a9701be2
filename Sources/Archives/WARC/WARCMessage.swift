import HTTPSemantics

/// The header block of a record that is written.
struct RecordHeadText {
    private var text: [UInt8] = []

    init(type: StaticString, id: [UInt8], time: [UInt8]) {
        text.reserveCapacity(640)
        text.add("WARC/1.1\r\nWARC-Type: ")
        text.add(type)
        text.add("\r\nWARC-Record-ID: ")
        text += id
        text.add("\r\nWARC-Date: ")
        text += time
        text.add("\r\n")
    }

    /// Adds a line.
    ///
    /// - Parameter name: with what stands between it and the value.
    mutating func add(_ name: StaticString, _ value: [UInt8]) {
        text.add(name)
        text.add(line: value)
        text.add("\r\n")
    }

    /// Adds a whole line.
    mutating func add(_ line: StaticString) {
        text.add(line)
        text.add("\r\n")
    }

    consuming func bytes(contentLength: Int) -> [UInt8] {
        text.add("Content-Length: ")
        text += String(contentLength).utf8
        text.add("\r\n\r\n")
        return text
    }
}

/// Messages of HTTP/1.1 as WARC has them.
enum WARCMessage {
    /// What stands behind a record.
    static let recordEnd: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]

    static func requestHead(_ exchange: RecordedExchange) -> [UInt8] {
        var head: [UInt8] = []
        head.reserveCapacity(1024)
        head.add(line: Array(exchange.method.utf8))
        head.append(0x20)
        let start = authority(exchange.url)
        appendTarget(exchange.url[start.upperBound...], to: &head)
        head.add(" HTTP/1.1\r\n")
        if !exchange.requestFields.contains(where: { $0.isNamed("host") }) {
            let authority = exchange.url[start]
            let host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] } ?? authority
            append(RecordedField(Array("Host".utf8), Array(host)), to: &head)
        }
        for field in exchange.requestFields where !isOfTransfer(field) { append(field, to: &head) }
        head.add("\r\n")
        return head
    }

    static func responseHead(_ exchange: RecordedExchange) -> [UInt8] {
        var head: [UInt8] = []
        head.reserveCapacity(1024)
        head.add("HTTP/1.1 ")
        head += String(exchange.status).utf8
        head.append(0x20)
        head.add(line: exchange.reason)
        head.add("\r\n")
        for field in exchange.fields where !isOfTransfer(field) { append(field, to: &head) }
        head.add("\r\n")
        return head
    }

    private static func append(_ field: RecordedField, to head: inout [UInt8]) {
        // HTTP/2's pseudo fields stand in the first line.
        guard !field.name.isEmpty, field.name.allSatisfy({ $0.isMember(of: .token) }) else { return }
        head += field.name
        head.add(": ")
        head.add(line: field.value)
        head.add("\r\n")
    }

    private static func isOfTransfer(_ field: RecordedField) -> Bool {
        field.isNamed("transfer-encoding") || field.isNamed("trailer")
    }

    /// Where the authority of a URL stands.
    private static func authority(_ url: [UInt8]) -> Range<Int> {
        var start = 0
        for index in url.indices.dropLast(2) where url[index] == UInt8(ascii: ":") {
            guard url[index + 1] == UInt8(ascii: "/"), url[index + 2] == UInt8(ascii: "/") else { continue }
            start = index + 3
            break
        }
        return start..<(url[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? url.count)
    }

    /// Appends path and query of a URL.
    private static func appendTarget(_ rest: ArraySlice<UInt8>, to head: inout [UInt8]) {
        if rest.first != UInt8(ascii: "/") { head.append(UInt8(ascii: "/")) }
        head.add(line: rest)
    }
}

extension [UInt8] {
    mutating func add(_ text: StaticString) { text.withUTF8Buffer { append(contentsOf: $0) } }

    /// Appends a value in which nothing ends its line.
    mutating func add(line value: some Collection<UInt8>) {
        let start = count
        append(contentsOf: value)
        withUnsafeMutableBufferPointer { bytes in
            for index in start..<bytes.count where bytes[index] <= 0x0D {
                let byte = bytes[index]
                if byte == 0x0D || byte == 0x0A || byte == 0 { bytes[index] = 0x20 }
            }
        }
    }
}
