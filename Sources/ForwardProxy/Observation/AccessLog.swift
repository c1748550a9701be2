import NIOCore

/// The form of the access log's lines.
public enum LogFormat: String, Sendable, CaseIterable {
    case text, json
}

/// The access log of one event loop: it formats lines into a buffer and hands the buffer to the sink in batches.
///
/// Bound to its event loop. Never logged: credentials and cookies (no field is logged at all), and query values of
/// URLs that the map doesn't name, unless ``showsQueryValues`` is set.
final class AccessLog {
    private let sink: LogSink
    private let format: LogFormat
    private let showsQueryValues: Bool
    private var buffer = ByteBuffer()
    private var clock = WallClock()
    /// Called when the first line comes into an empty buffer, so that the loop arranges a ``flush()`` soon.
    var needsFlush: () -> Void = {}

    init(sink: LogSink, format: LogFormat, showsQueryValues: Bool) {
        self.sink = sink
        self.format = format
        self.showsQueryValues = showsQueryValues
    }

    func record(_ record: borrowing ExchangeRecord, client: String, now: UInt64) {
        let wasEmpty = buffer.readableBytes == 0
        let duration = now >= record.startedAt ? now &- record.startedAt : 0
        switch format {
        case .text: writeText(record, duration)
        case .json: writeJSON(record, client, duration)
        }
        if buffer.readableBytes > 32 * 1024 {
            flush()
        } else if wasEmpty {
            needsFlush()
        }
    }

    func flush() {
        guard buffer.readableBytes > 0 else { return }
        sink.submit(buffer)
        buffer = ByteBuffer()
        buffer.reserveCapacity(4096)
    }

    private func writeText(_ record: borrowing ExchangeRecord, _ duration: UInt64) {
        clock.writeLocalTime(to: &buffer)
        buffer.writeInteger(UInt8(ascii: " "))
        writeEscaped(record.method)
        buffer.writeInteger(UInt8(ascii: " "))
        writeURL(record)
        buffer.writeInteger(UInt8(ascii: " "))
        buffer.writeDecimal(record.status)
        buffer.writeInteger(UInt8(ascii: " "))
        buffer.writeByteCount(record.bodyBytes)
        buffer.writeInteger(UInt8(ascii: " "))
        buffer.writeTenths(Int(truncatingIfNeeded: duration / 100_000))
        buffer.writeStaticString("ms ")
        buffer.writeStaticString(record.outcome.name)
        if !record.rule.isEmpty {
            buffer.writeInteger(UInt8(ascii: " "))
            writeEscaped(ByteBuffer(string: record.rule))
        }
        if !record.reason.isEmpty {
            buffer.writeStaticString(" (")
            writeEscaped(ByteBuffer(string: record.reason))
            buffer.writeInteger(UInt8(ascii: ")"))
        }
        buffer.writeInteger(UInt8(ascii: "\n"))
    }

    private func writeJSON(_ record: borrowing ExchangeRecord, _ client: String, _ duration: UInt64) {
        buffer.writeStaticString(#"{"time":""#)
        clock.writeInternetTime(to: &buffer)
        buffer.writeStaticString(#"","client":""#)
        buffer.writeString(client)
        buffer.writeStaticString(#"","method":""#)
        writeEscaped(record.method)
        buffer.writeStaticString(#"","url":""#)
        writeURL(record)
        buffer.writeStaticString(#"","status":"#)
        buffer.writeDecimal(record.status)
        buffer.writeStaticString(#","bytes":"#)
        buffer.writeDecimal(record.bodyBytes)
        buffer.writeStaticString(#","duration_ms":"#)
        buffer.writeThousandths(Int(truncatingIfNeeded: duration / 1000))
        buffer.writeStaticString(#","outcome":""#)
        buffer.writeStaticString(record.outcome.name)
        buffer.writeStaticString(#"","rule":"#)
        writeJSONString(record.rule)
        buffer.writeStaticString(#","reason":"#)
        writeJSONString(record.reason)
        buffer.writeStaticString("}\n")
    }

    private func writeJSONString(_ text: String) {
        guard !text.isEmpty else {
            buffer.writeStaticString("null")
            return
        }
        buffer.writeInteger(UInt8(ascii: "\""))
        writeEscaped(ByteBuffer(string: text))
        buffer.writeInteger(UInt8(ascii: "\""))
    }

    /// Writes the URL; in the query of an unmapped one each value becomes `*`. One that could not be parsed may have user
    /// information in it still.
    private func writeURL(_ record: borrowing ExchangeRecord) {
        let url = record.url.withUnsafeReadableBytes { AccessLog.withoutUserInformation($0) }
        if let url {
            var plain = copy record
            plain.url = ByteBuffer(bytes: url)
            return writeURL(plain)
        }
        guard !record.isMapped, !showsQueryValues else {
            writeEscaped(record.url)
            return
        }
        record.url.withUnsafeReadableBytes { bytes in
            guard let query = bytes.firstIndex(of: UInt8(ascii: "?")) else {
                writeEscaped(bytes)
                return
            }
            writeEscaped(UnsafeRawBufferPointer(rebasing: bytes[...query]))
            for (index, parameter) in bytes[(query &+ 1)...].split(separator: UInt8(ascii: "&")).enumerated() {
                if index > 0 { buffer.writeInteger(UInt8(ascii: "&")) }
                if let equals = parameter.firstIndex(of: UInt8(ascii: "=")) {
                    writeEscaped(UnsafeRawBufferPointer(rebasing: parameter[...equals]))
                    buffer.writeInteger(UInt8(ascii: "*"))
                } else {
                    // A query without "=" may be a token in itself.
                    buffer.writeInteger(UInt8(ascii: "*"))
                }
            }
        }
    }

    /// The URL without what stands before the last `@` of its authority; nil where nothing does.
    private static func withoutUserInformation(_ url: UnsafeRawBufferPointer) -> [UInt8]? {
        guard url.contains(UInt8(ascii: "@")) else { return nil }
        var start = 0
        for index in url.indices.dropLast(2)
        where url[index] == 0x3a && url[index &+ 1] == 0x2f && url[index &+ 2] == 0x2f {
            start = index &+ 3
            break
        }
        let end = url[start...].firstIndex { $0 == 0x2f || $0 == 0x3f || $0 == 0x23 } ?? url.count
        guard let at = url[start..<end].lastIndex(of: UInt8(ascii: "@")) else { return nil }
        return Array(url[0..<start]) + Array(url[(at &+ 1)...])
    }

    private func writeEscaped(_ text: ByteBuffer) {
        text.withUnsafeReadableBytes { writeEscaped($0) }
    }

    /// Writes bytes so that neither a terminal nor a JSON reader is led astray: control bytes, quotes, backslashes and
    /// bytes that are no UTF-8 become escapes.
    private func writeEscaped(_ bytes: UnsafeRawBufferPointer) {
        let isPlain = bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7f && $0 != 0x22 && $0 != 0x5c }
        guard !isPlain else {
            buffer.writeBytes(bytes)
            return
        }
        let isUTF8 = String(validating: bytes, as: UTF8.self) != nil
        for byte in bytes {
            switch byte {
            case 0x80... where isUTF8: buffer.writeInteger(byte)
            case 0x22, 0x5c:
                buffer.writeInteger(UInt8(ascii: "\\"))
                buffer.writeInteger(byte)
            case 0x20..<0x7f: buffer.writeInteger(byte)
            default:
                buffer.writeStaticString(format == .json ? "\\u00" : "\\x")
                buffer.writeHexByte(byte)
            }
        }
    }
}
