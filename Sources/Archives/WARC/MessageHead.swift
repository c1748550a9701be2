import HTTPSemantics

/// The head of an HTTP message as it was recorded: status or request line, and fields. It is read leniently: lines end
/// with LF, the version and the reason phrase may be anything or missing.
struct MessageHead {
    /// With the empty line at its end.
    private(set) var length = 0
    private(set) var startLine: ArraySlice<UInt8> = []
    private(set) var fields: [RecordedField] = []

    /// Of several responses that follow each other in a message, it is the head of the last one, the final one.
    ///
    /// - Returns: nil where the bytes end before the head does; with `isWhole` there are no more, and it ends there.
    init?(_ bytes: UnsafeRawBufferPointer, isWhole: Bool) {
        var start = 0
        while true {
            guard let head = MessageHead(one: bytes.rebased(start..<bytes.count), isWhole) else { return nil }
            start += head.length
            switch BehindHead(head.status, bytes.rebased(start..<bytes.count), isWhole: isWhole) {
            case .response: continue
            case .unknown: return nil
            case .body:
                self = head
                length = start
                return
            }
        }
    }

    private init?(one bytes: UnsafeRawBufferPointer, _ isWhole: Bool) {
        var lines = HeadLines(bytes)
        guard let first = lines.next() ?? (isWhole ? lines.rest() : nil) else { return nil }
        startLine = Array(bytes[first])[...]
        while let line = lines.next() { add(bytes.rebased(line)) }
        if !lines.isComplete {
            guard isWhole else { return nil }
            if let line = lines.rest() { add(bytes.rebased(line)) }
        }
        length = lines.position
    }

    private mutating func add(_ line: UnsafeRawBufferPointer) {
        // A folded line goes on with the one before it (RFC 9112 §5.2).
        if let first = line.first, first == 0x20 || first == 0x09 {
            guard !fields.isEmpty else { return }
            fields[fields.count - 1].value += [0x20] + line.trimmingOptionalWhitespace
            return
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return }
        fields.append(
            RecordedField(
                Array(line.rebased(0..<colon).trimmingOptionalWhitespace),
                Array(line.rebased(colon + 1..<line.count).trimmingOptionalWhitespace)))
    }

    /// 0 where the first line is no status line.
    var status: Int { startLine.withUnsafeBytes { MessageScan.status($0) } }

    /// What is behind the status.
    var reason: [UInt8] {
        let parts = startLine.split(separator: 0x20, maxSplits: 2)
        return parts.count > 2 ? Array(parts[2]) : []
    }

    /// The method of a request line; empty where there is none.
    var method: String { String(decoding: startLine.prefix { $0 != 0x20 }, as: UTF8.self) }

    /// Whether the body is chunked, or is said to be.
    var isChunked: Bool {
        fields.contains { field in
            field.isNamed("transfer-encoding") && field.value.withUnsafeBytes { MessageScan.names($0, "chunked") }
        }
    }

    /// The content codings, in the order in which they were put on. Names that stand for none are passed over, as
    /// browsers do.
    var codings: [String] { ContentDecoder.codings(of: fields).filter { !ContentCoding.mistaken.contains($0) } }
}

/// What an index needs of the head of a response.
struct MessageScan {
    /// With the empty line at its end.
    private(set) var length = 0
    private(set) var status = 0
    private(set) var varies = false
    /// Whether Content-Range says that the body is a part, or nothing that can be read.
    private(set) var isPart = true

    /// Of several responses, as for ``MessageHead``.
    ///
    /// - Returns: nil where the bytes end before the head does; with `isWhole` there are no more, and it ends there.
    init?(_ bytes: UnsafeRawBufferPointer, isWhole: Bool) {
        var start = 0
        while true {
            guard let head = MessageScan(one: bytes.rebased(start..<bytes.count), isWhole) else { return nil }
            start += head.length
            switch BehindHead(head.status, bytes.rebased(start..<bytes.count), isWhole: isWhole) {
            case .response: continue
            case .unknown: return nil
            case .body:
                self = head
                length = start
                return
            }
        }
    }

    private init?(one bytes: UnsafeRawBufferPointer, _ isWhole: Bool) {
        var lines = HeadLines(bytes)
        guard let first = lines.next() ?? (isWhole ? lines.rest() : nil) else { return nil }
        status = MessageScan.status(bytes.rebased(first))
        while let line = lines.next() { look(bytes.rebased(line)) }
        if !lines.isComplete {
            guard isWhole else { return nil }
            if let line = lines.rest() { look(bytes.rebased(line)) }
        }
        length = lines.position
    }

    private mutating func look(_ line: UnsafeRawBufferPointer) {
        switch (line.first ?? 0) | 0x20 {
        case UInt8(ascii: "v") where line.count > 4 && line.rebased(0..<5).equalsIgnoringCase("vary:"): varies = true
        case UInt8(ascii: "c") where status == 206 && line.count > 13:
            guard line.rebased(0..<14).equalsIgnoringCase("content-range:") else { return }
            isPart = !MessageScan.isWhole(line.rebased(14..<line.count).trimmingOptionalWhitespace)
        default: break
        }
    }

    /// The status of a status line; 0 where it is none.
    static func status(_ line: UnsafeRawBufferPointer) -> Int {
        guard line.count > 5, line.rebased(0..<5).equalsIgnoringCase("http/") else { return 0 }
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        var start = 5
        while start < line.count, !isBlank(line[start]) { start += 1 }
        while start < line.count, isBlank(line[start]) { start += 1 }
        var end = start
        while end < line.count, !isBlank(line[end]) { end += 1 }
        return line.rebased(start..<end).decimalValue ?? 0
    }

    /// Whether a Content-Range is of all that there is, as `bytes 0-99/100` (RFC 9110 §14.4).
    static func isWhole(_ range: UnsafeRawBufferPointer) -> Bool {
        let text = range.filter { $0 != 0x20 && $0 != 0x09 }
        let parts = text.dropFirst(5).split(separator: UInt8(ascii: "/"))
        let ends = parts.first?.split(separator: UInt8(ascii: "-")) ?? []
        guard text.prefix(5).withUnsafeBytes({ $0.equalsIgnoringCase("bytes") }), parts.count == 2, ends.count == 2,
            let size = parts[1].withUnsafeBytes({ $0.decimalValue }),
            let last = ends[1].withUnsafeBytes({ $0.decimalValue })
        else { return false }
        return ends[0].elementsEqual("0".utf8) && last == size - 1
    }

    /// Whether a list of names, separated by commas, has one; `name` is in lower case.
    static func names(_ list: UnsafeRawBufferPointer, _ name: StaticString) -> Bool {
        list.split(separator: UInt8(ascii: ",")).contains {
            UnsafeRawBufferPointer(rebasing: $0).trimmingOptionalWhitespace.equalsIgnoringCase(name)
        }
    }
}
