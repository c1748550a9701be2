import Glibc
import NIOCore

/// The form of the access log's lines.
public enum LogFormat: String, Sendable, CaseIterable {
    case text, json
}

/// The access log of one event loop: it formats lines into a buffer and hands the buffer to the sink in batches.
///
/// Bound to its event loop. Never logged: credentials and cookies (no field is logged at all), and query values of
/// URLs that the map doesn't name, unless `showsQueryValues` is set. Where the sink throws everything away
/// (`--log-file /dev/null`), no line is made.
final class AccessLog {
    private let sink: LogSink
    private let isJSON: Bool
    private let showsQueryValues: Bool
    private var buffer = ByteBuffer()
    private var time = LogTime()
    /// Called when the first line comes into an empty buffer, so that the loop arranges a ``flush()`` soon.
    var needsFlush: () -> Void = {}

    /// Bytes of lines at which they are handed over.
    private static let batch = 32 << 10

    init(sink: LogSink, format: LogFormat, showsQueryValues: Bool) {
        self.sink = sink
        isJSON = format == .json
        self.showsQueryValues = showsQueryValues
    }

    /// Whether lines are wanted at all.
    var isOn: Bool { !sink.isDiscarding }

    /// Adds the line of an exchange that has ended.
    ///
    /// - Parameters:
    ///   - client: the client's address.
    ///   - duration: nanoseconds that the exchange took.
    ///   - wall: the time of its end, nanoseconds since 1970.
    func record(_ record: borrowing ExchangeRecord, client: String, duration: UInt64, wall: UInt64) {
        let wasEmpty = buffer.readableBytes == 0
        // An escape is six bytes at the most, and what stands between the parts less than this.
        let bound =
            512 &+ 6
            &* (record.method.readableBytes &+ record.url.readableBytes &+ record.rule.utf8.count
                &+ record.reason.utf8.count &+ client.utf8.count)
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: bound) { memory in
            var line = LogLine(memory)
            if isJSON {
                writeJSON(record, client, duration, wall, &line)
            } else {
                writeText(record, duration, wall, &line)
            }
            return line.count
        }
        if buffer.readableBytes > AccessLog.batch {
            flush()
        } else if wasEmpty {
            needsFlush()
        }
    }

    func flush() {
        guard buffer.readableBytes > 0 else { return }
        // Where a batch was full, the next one will be.
        let capacity = buffer.readableBytes > AccessLog.batch ? AccessLog.batch &+ 4096 : 4096
        sink.submit(buffer)
        buffer = ByteBuffer()
        buffer.reserveCapacity(capacity)
    }

    private func writeText(
        _ record: borrowing ExchangeRecord, _ duration: UInt64, _ wall: UInt64, _ line: inout LogLine
    ) {
        time.writeLocal(wall, to: &line)
        line.write(UInt8(ascii: " "))
        record.method.withUnsafeReadableBytes { line.writeEscaped($0, isJSON: false) }
        line.write(UInt8(ascii: " "))
        writeURL(record, &line)
        line.write(UInt8(ascii: " "))
        line.writeDecimal(record.status)
        line.write(UInt8(ascii: " "))
        line.writeByteCount(record.bodyBytes)
        line.write(UInt8(ascii: " "))
        line.writeTenths(Int(truncatingIfNeeded: duration / 100_000))
        line.write("ms ")
        line.write(record.outcome.name)
        if !record.rule.isEmpty {
            line.write(UInt8(ascii: " "))
            line.writeEscaped(record.rule, isJSON: false)
        }
        if !record.reason.isEmpty {
            line.write(" (")
            line.writeEscaped(record.reason, isJSON: false)
            line.write(UInt8(ascii: ")"))
        }
        line.write(UInt8(ascii: "\n"))
    }

    private func writeJSON(
        _ record: borrowing ExchangeRecord, _ client: String, _ duration: UInt64, _ wall: UInt64, _ line: inout LogLine
    ) {
        line.write(#"{"time":""#)
        time.writeInternet(wall, to: &line)
        line.write(#"","client":""#)
        line.writeEscaped(client, isJSON: true)
        line.write(#"","method":""#)
        record.method.withUnsafeReadableBytes { line.writeEscaped($0, isJSON: true) }
        line.write(#"","url":""#)
        writeURL(record, &line)
        line.write(#"","status":"#)
        line.writeDecimal(record.status)
        line.write(#","bytes":"#)
        line.writeDecimal(record.bodyBytes)
        line.write(#","duration_ms":"#)
        line.writeThousandths(Int(truncatingIfNeeded: duration / 1000))
        line.write(#","outcome":""#)
        line.write(record.outcome.name)
        line.write(#"","rule":"#)
        writeJSONString(record.rule, &line)
        line.write(#","reason":"#)
        writeJSONString(record.reason, &line)
        line.write("}\n")
    }

    private func writeJSONString(_ text: String, _ line: inout LogLine) {
        guard !text.isEmpty else { return line.write("null") }
        line.write(UInt8(ascii: "\""))
        line.writeEscaped(text, isJSON: true)
        line.write(UInt8(ascii: "\""))
    }

    /// Writes the URL; in the query of an unmapped one each value becomes `*`. One that could not be parsed may have
    /// user information in it still.
    private func writeURL(_ record: borrowing ExchangeRecord, _ line: inout LogLine) {
        let hidesValues = !record.isMapped && !showsQueryValues
        record.url.withUnsafeReadableBytes { url in
            if let plain = AccessLog.withoutUserInformation(url) {
                plain.withUnsafeBytes { writeURL($0, hidesValues: hidesValues, &line) }
            } else {
                writeURL(url, hidesValues: hidesValues, &line)
            }
        }
    }

    private func writeURL(_ url: UnsafeRawBufferPointer, hidesValues: Bool, _ line: inout LogLine) {
        guard hidesValues, let query = AccessLog.first(UInt8(ascii: "?"), in: url) else {
            return line.writeEscaped(url, isJSON: isJSON)
        }
        line.writeEscaped(UnsafeRawBufferPointer(rebasing: url[...query]), isJSON: isJSON)
        for (index, parameter) in url[(query &+ 1)...].split(separator: UInt8(ascii: "&")).enumerated() {
            if index > 0 { line.write(UInt8(ascii: "&")) }
            if let equals = parameter.firstIndex(of: UInt8(ascii: "=")) {
                line.writeEscaped(UnsafeRawBufferPointer(rebasing: parameter[...equals]), isJSON: isJSON)
            }
            // A query without "=" may be a token in itself.
            line.write(UInt8(ascii: "*"))
        }
    }

    /// The URL without what stands before the last `@` of its authority; nil where nothing does.
    private static func withoutUserInformation(_ url: UnsafeRawBufferPointer) -> [UInt8]? {
        guard first(UInt8(ascii: "@"), in: url) != nil else { return nil }
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

    /// Where `byte` stands first (`memchr`).
    private static func first(_ byte: UInt8, in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress, let found = memchr(base, CInt(byte), bytes.count) else { return nil }
        return UnsafeRawPointer(found) - base
    }
}

/// The time of day as log lines write it; its text is made once a second, up to the milliseconds.
private struct LogTime {
    private var second: UInt64 = .max
    /// `14:02:11.`, local time.
    private var local: [UInt8] = []
    /// `2026-11-21T14:02:11.`
    private var internet: [UInt8] = []

    /// Writes `14:02:11.123`, local time.
    mutating func writeLocal(_ wall: UInt64, to line: inout LogLine) {
        look(wall)
        local.withUnsafeBytes { line.write($0) }
        line.writeDigits(UInt(truncatingIfNeeded: wall % 1_000_000_000 / 1_000_000), 3)
    }

    /// Writes `2026-11-21T14:02:11.123Z` (RFC 3339).
    mutating func writeInternet(_ wall: UInt64, to line: inout LogLine) {
        look(wall)
        internet.withUnsafeBytes { line.write($0) }
        line.writeDigits(UInt(truncatingIfNeeded: wall % 1_000_000_000 / 1_000_000), 3)
        line.write(UInt8(ascii: "Z"))
    }

    @inline(__always)
    private mutating func look(_ wall: UInt64) {
        let second = wall / 1_000_000_000
        if second != self.second { make(second) }
    }

    private mutating func make(_ second: UInt64) {
        self.second = second
        var seconds = time_t(truncatingIfNeeded: second)
        var time = tm()
        localtime_r(&seconds, &time)
        local = LogTime.text { LogTime.write(time, to: &$0) }
        gmtime_r(&seconds, &time)
        internet = LogTime.text { line in
            line.writeDigits(UInt(max(0, Int(time.tm_year) &+ 1900)), 4)
            line.write(UInt8(ascii: "-"))
            line.writeDigits(UInt(max(0, Int(time.tm_mon) &+ 1)), 2)
            line.write(UInt8(ascii: "-"))
            line.writeDigits(UInt(max(0, Int(time.tm_mday))), 2)
            line.write(UInt8(ascii: "T"))
            LogTime.write(time, to: &line)
        }
    }

    private static func text(_ write: (inout LogLine) -> Void) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { memory, count in
            var line = LogLine(UnsafeMutableRawBufferPointer(memory))
            write(&line)
            count = line.count
        }
    }

    private static func write(_ time: tm, to line: inout LogLine) {
        line.writeDigits(UInt(max(0, Int(time.tm_hour))), 2)
        line.write(UInt8(ascii: ":"))
        line.writeDigits(UInt(max(0, Int(time.tm_min))), 2)
        line.write(UInt8(ascii: ":"))
        line.writeDigits(UInt(max(0, Int(time.tm_sec))), 2)
        line.write(UInt8(ascii: "."))
    }
}
