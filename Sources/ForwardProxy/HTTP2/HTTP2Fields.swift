import HTTPSemantics
import NIOCore
import NIOHPACK

/// Turns field lines of HTTP/1 into those of HTTP/2: names in lower case, none that belong to a connection.
enum HTTP2Fields {
    /// - Parameter status: nil for a trailer section.
    static func make(status: Int?, _ lines: ByteBuffer) -> HPACKHeaders {
        var headers = HPACKHeaders()
        headers.reserveCapacity(16)
        if let status { headers.add(name: ":status", value: String(status)) }
        lines.withUnsafeReadableBytes { bytes in
            var start = 0
            while start < bytes.count {
                let end = bytes[start...].firstIndex(of: 0x0a) ?? bytes.count
                add(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), to: &headers)
                start = end &+ 1
            }
        }
        return headers
    }

    private static func add(_ line: UnsafeRawBufferPointer, to headers: inout HPACKHeaders) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return }
        let name = line[..<colon]
        switch FieldName(UnsafeRawBufferPointer(rebasing: name)) {
        case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade: return
        default: break
        }
        var value = line[(colon &+ 1)...]
        while let first = value.first, first == 0x20 || first == 0x09 { value = value.dropFirst() }
        while let last = value.last, last == 0x20 || last == 0x09 || last == 0x0d { value = value.dropLast() }
        headers.add(
            name: String(decoding: name.lazy.map(\.asciiLowercased), as: UTF8.self),
            value: String(decoding: value, as: UTF8.self))
    }
}
