import Glibc
import NIOCore

/// The form of the access log's lines.
public enum LogFormat: String, Sendable, CaseIterable {
    case text, json
}

/// What the lines of exchanges with the same request and answer share: the part between the client and the duration,
/// and the part after the duration.
struct LineParts {
    fileprivate let bytes: [UInt8]
    fileprivate let frontCount: Int
}

/// The access log of one event loop: it formats lines into memory of its own and hands them to the sink in batches.
///
/// Bound to its event loop. Never logged: credentials and cookies (no field is logged at all), and query values of
/// URLs that the map doesn't name, unless `showsQueryValues` is set. Where the sink throws everything away
/// (`--log-file /dev/null`), no line is made.
final class AccessLog {
    private let sink: LogSink
    private let isJSON: Bool
    private let showsQueryValues: Bool
    private var begin: LineBeginning
    /// Lines that were not handed over yet: the first `count` bytes of memory that stays the log's.
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var count = 0
    private var flushIsDue = false
    /// Called when a line was added that nothing else is sure to hand over, so that the loop schedules a
    /// ``flushDue()``.
    var needsFlush: () -> Void = {}

    /// The most bytes of lines that are handed over together; a line that may be longer goes alone.
    private static let batch = 64 << 10

    init(sink: LogSink, format: LogFormat, showsQueryValues: Bool) {
        self.sink = sink
        isJSON = format == .json
        begin = LineBeginning(isJSON: isJSON)
        self.showsQueryValues = showsQueryValues
    }

    deinit { memory.deallocate() }

    /// Whether lines are wanted at all.
    var isOn: Bool { !sink.isDiscarding }

    /// Adds the line of an exchange that has ended.
    ///
    /// - Parameters:
    ///   - client: the client's address.
    ///   - duration: nanoseconds that the exchange took.
    ///   - wall: the time of its end, nanoseconds since 1970.
    func write(_ record: borrowing ExchangeRecord, client: String, duration: UInt64, wall: UInt64) {
        var line = beginLine(AccessLog.bound(record), client, wall)
        writeFront(record, &line)
        writeDuration(duration, &line)
        writeBack(record, &line)
        end(line)
    }

    /// Adds a line whose parts are ready but for the time, the client and the duration.
    func write(_ parts: LineParts, client: String, duration: UInt64, wall: UInt64) {
        var line = beginLine(parts.bytes.count, client, wall)
        parts.bytes.withUnsafeBytes { bytes in
            line.write(UnsafeRawBufferPointer(rebasing: bytes[..<parts.frontCount]))
            writeDuration(duration, &line)
            line.write(UnsafeRawBufferPointer(rebasing: bytes[parts.frontCount...]))
        }
        end(line)
    }

    /// What the lines of exchanges like this one have in common.
    func parts(of record: ExchangeRecord) -> LineParts {
        withUnsafeTemporaryAllocation(byteCount: AccessLog.bound(record), alignment: 1) { memory in
            var line = LogLine(memory)
            writeFront(record, &line)
            let frontCount = line.count
            writeBack(record, &line)
            return LineParts(bytes: Array(memory[..<line.count]), frontCount: frontCount)
        }
    }

    /// Hands over what ``needsFlush`` was called for.
    func flushDue() {
        flushIsDue = false
        flush()
    }

    func flush() {
        guard count > 0 else { return }
        sink.submit(ByteBuffer(bytes: UnsafeRawBufferPointer(rebasing: memory[..<count])))
        count = 0
    }

    // MARK: Memory

    /// Bytes that what a record tells of takes at the most: an escape is six bytes, and what stands between the parts
    /// less than the rest.
    private static func bound(_ record: borrowing ExchangeRecord) -> Int {
        256 &+ 6
            &* (record.method.readableBytes &+ record.url.readableBytes &+ record.rule.utf8.count
                &+ record.reason.utf8.count)
    }

    /// Begins a line, for which there is room.
    ///
    /// - Parameter bound: bytes that follow at the most, but for the duration.
    @inline(__always)
    private func beginLine(_ bound: Int, _ client: String, _ wall: UInt64) -> LogLine {
        let bound = bound &+ 256 &+ 6 &* client.utf8.count
        if memory.count &- count < bound { makeRoom(bound) }
        var line = LogLine(UnsafeMutableRawBufferPointer(rebasing: memory[count...]))
        begin.write(wall, to: &line)
        if isJSON { line.writeEscaped(client, isJSON: true) }
        return line
    }

    @inline(__always)
    private func end(_ line: LogLine) {
        count &+= line.count
        guard !flushIsDue else { return }
        flushIsDue = true
        needsFlush()
    }

    private func makeRoom(_ bound: Int) {
        flush()
        let capacity = max(bound, AccessLog.batch)
        guard memory.count != capacity else { return }
        memory.deallocate()
        memory = .allocate(byteCount: capacity, alignment: 16)
    }

    // MARK: Parts of a line

    /// Writes what stands between the line's beginning and the duration.
    private func writeFront(_ record: borrowing ExchangeRecord, _ line: inout LogLine) {
        if isJSON { writeJSONFront(record, &line) } else { writeTextFront(record, &line) }
    }

    @inline(__always)
    private func writeDuration(_ duration: UInt64, _ line: inout LogLine) {
        if isJSON {
            line.writeThousandths(Int(truncatingIfNeeded: duration / 1000))
        } else {
            line.writeTenths(Int(truncatingIfNeeded: duration / 100_000))
        }
    }

    /// Writes what stands behind the duration.
    private func writeBack(_ record: borrowing ExchangeRecord, _ line: inout LogLine) {
        if isJSON { writeJSONBack(record, &line) } else { writeTextBack(record, &line) }
    }

    private func writeTextFront(_ record: borrowing ExchangeRecord, _ line: inout LogLine) {
        record.method.withUnsafeReadableBytes { line.writeEscaped($0, isJSON: false) }
        line.write(UInt8(ascii: " "))
        writeURL(record, &line)
        line.write(UInt8(ascii: " "))
        line.writeDecimal(record.status)
        line.write(UInt8(ascii: " "))
        line.writeByteCount(record.bodyBytes)
        line.write(UInt8(ascii: " "))
    }

    private func writeTextBack(_ record: borrowing ExchangeRecord, _ line: inout LogLine) {
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

    private func writeJSONFront(_ record: borrowing ExchangeRecord, _ line: inout LogLine) {
        line.write(#"","method":""#)
        record.method.withUnsafeReadableBytes { line.writeEscaped($0, isJSON: true) }
        line.write(#"","url":""#)
        writeURL(record, &line)
        line.write(#"","status":"#)
        line.writeDecimal(record.status)
        line.write(#","bytes":"#)
        line.writeDecimal(record.bodyBytes)
        line.write(#","duration_ms":"#)
    }

    private func writeJSONBack(_ record: borrowing ExchangeRecord, _ line: inout LogLine) {
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

    /// Writes the URL; in the query of an unmapped one each value becomes `*`. The user information that a target may
    /// have if it could not be read as a URL is left out.
    private func writeURL(_ record: borrowing ExchangeRecord, _ line: inout LogLine) {
        let hidesValues = !record.isMapped && !showsQueryValues
        record.url.withUnsafeReadableBytes { url in
            if !record.isURLRead, let plain = AccessLog.withoutUserInformation(url) {
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

    /// A target without what may be user information; nil where there is none.
    ///
    /// Where such a target's authority ends nobody can tell, so all goes between its `//`, or its beginning, and the
    /// last `@`. A path alone has no authority.
    private static func withoutUserInformation(_ target: UnsafeRawBufferPointer) -> [UInt8]? {
        let slash = UInt8(ascii: "/")
        guard first(UInt8(ascii: "@"), in: target) != nil, let at = target.lastIndex(of: UInt8(ascii: "@"))
        else { return nil }
        let slashes = target[..<at].indices.dropLast().first { target[$0] == slash && target[$0 &+ 1] == slash }
        guard slashes != nil || target.first != slash else { return nil }
        let start = slashes.map { $0 &+ 2 } ?? 0
        return Array(target[..<start]) + Array(target[(at &+ 1)...])
    }

    /// Where `byte` stands first (`memchr`).
    private static func first(_ byte: UInt8, in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress, let found = memchr(base, CInt(byte), bytes.count) else { return nil }
        return UnsafeRawPointer(found) - base
    }
}
