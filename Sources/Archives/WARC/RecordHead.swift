import Glibc
import HTTPSemantics

/// The header block of a WARC record (WARC 1.1 §4, §5): what of it is used here.
struct RecordHead {
    enum Kind {
        case response, request, resource, revisit, other
    }

    /// The most bytes of a header block.
    static let mostBytes = 262_144

    /// The block, with the empty line at its end.
    private(set) var bytes: [UInt8] = []
    var kind = Kind.other
    /// Of the block that follows; negative where it is not said.
    var contentLength = -1
    /// Whether the record is a part of one: its block is not the whole.
    private(set) var isSegment = false
    /// Whether its writer has left out the end of the block (WARC 1.1 §5.13); a revisit's block never has a body.
    var isTruncated: Bool { hasTruncation && kind != .revisit }
    private var hasTruncation = false
    /// Where in the block another record begins: this one was cut, and the fields are not one record's.
    private(set) var next: Int?
    private var targets: [FieldPlace] = []
    /// Records that one may name as written at once with it; an index keeps each, so that further ones don't count.
    private static let maximumTargets = 16
    private(set) var id = FieldPlace.none
    private(set) var url = FieldPlace.none
    private(set) var date = FieldPlace.none
    private(set) var mediaType = FieldPlace.none
    private(set) var refersTo = FieldPlace.none
    private(set) var refersToURL = FieldPlace.none
    private(set) var refersToDate = FieldPlace.none
    private(set) var payloadDigest = FieldPlace.none
    private(set) var blockDigest = FieldPlace.none

    /// Where in the block the value of a field is.
    struct FieldPlace {
        fileprivate var start: UInt32
        fileprivate var end: UInt32

        /// That of a field that is not there.
        fileprivate static let none = FieldPlace(start: .max, end: 0)
    }

    /// A head that nothing is known of.
    init() {}

    /// Parses the head that bytes begin with.
    ///
    /// - Returns: nil where they end before it does.
    init?(_ input: UnsafeRawBufferPointer) {
        guard parse(input) else { return nil }
    }

    /// Parses the head that bytes begin with, in the memory of the one that was here.
    ///
    /// - Returns: false where they end before it does; what is here then is none.
    mutating func parse(_ input: UnsafeRawBufferPointer) -> Bool {
        begin()
        var lines = HeadLines(input)
        guard var last = lines.next() else { return false }
        var isFolded = false
        // Where one seems to begin at the end of a line: it may be a value's end.
        var within: Int?
        while let line = lines.next() {
            let first = input[line.lowerBound]
            if first == 0x20 || first == 0x09 { isFolded = true }
            if next == nil {
                if within == nil { within = RecordHead.start(input, atEndOf: last) }
                next = RecordHead.start(input, at: line)
            }
            if !addUsual(input, line) { add(input, line) }
            last = line
        }
        guard lines.isComplete else { return false }
        let block = input.rebased(0..<lines.position)
        if let within, RecordHead.isCut(block, at: within) { next = within }
        bytes.append(contentsOf: block)
        if isFolded { unfold(block) }
        return true
    }

    /// Forgets all but the memory.
    private mutating func begin() {
        var head = RecordHead()
        swap(&head.bytes, &bytes)
        swap(&head.targets, &targets)
        head.bytes.removeAll(keepingCapacity: true)
        if !head.targets.isEmpty { head.targets.removeAll(keepingCapacity: true) }
        self = head
    }

    /// Where another record seems to begin at the end of a line, as ``RecordScanner`` looks for them.
    @inline(__always)
    private static func start(_ input: UnsafeRawBufferPointer, atEndOf line: Range<Int>) -> Int? {
        let version = line.upperBound &- 8
        guard version >= 5, version > line.lowerBound, input[version + 6] == UInt8(ascii: "."),
            RecordScanner.isRecord(input.rebased(version..<input.count))
        else { return nil }
        return version
    }

    /// Where another record begins with a line.
    @inline(__always)
    private static func start(_ input: UnsafeRawBufferPointer, at line: Range<Int>) -> Int? {
        // Nearly all fields begin with `WARC-`.
        guard line.count >= 5, input[line.lowerBound + 4] == UInt8(ascii: "/") else { return nil }
        return input.rebased(line).begins(with: "WARC/") ? line.lowerBound : nil
    }

    /// Whether a record was cut at a place in a line where another seems to begin: the line is no field, or a field that
    /// a record has once is on both sides. Else it is the end of a value, as of `http://a.example/WARC/1.0`.
    private static func isCut(_ block: UnsafeRawBufferPointer, at place: Int) -> Bool {
        let once: [StaticString] = [
            "warc-type", "warc-record-id", "warc-date", "warc-target-uri", "content-length", "content-type",
        ]
        var before: Set<Int> = []
        var lines = HeadLines(block)
        _ = lines.next()
        while let line = lines.next() {
            let bytes = block.rebased(line)
            let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
            if line.contains(place), colon.map({ line.lowerBound + $0 > place }) ?? true { return true }
            guard let colon else { continue }
            let name = bytes.rebased(0..<colon).trimmingOptionalWhitespace
            guard let field = once.firstIndex(where: { name.equalsIgnoringCase($0) }) else { continue }
            if line.lowerBound < place {
                before.insert(field)
            } else if before.contains(field) {
                return true
            }
        }
        return false
    }

    /// A line that begins with a blank goes on with the one before it (WARC 1.1 §4).
    private mutating func unfold(_ input: UnsafeRawBufferPointer) {
        let next = next
        begin()
        self.next = next
        bytes.append(contentsOf: input)
        var fields: [Range<Int>] = []
        var lines = HeadLines(input)
        _ = lines.next()
        while let line = lines.next() {
            if input[line.lowerBound] == 0x20 || input[line.lowerBound] == 0x09, let last = fields.popLast() {
                for index in last.upperBound..<line.lowerBound { bytes[index] = 0x20 }
                fields.append(last.lowerBound..<line.upperBound)
            } else {
                fields.append(line)
            }
        }
        let unfolded = bytes
        unfolded.withUnsafeBytes { for field in fields { add($0, field) } }
    }

    /// The value of a field, such as `head[head.url]`.
    subscript(_ place: FieldPlace) -> ArraySlice<UInt8>? {
        place.start <= place.end ? bytes[Int(place.start)..<Int(place.end)] : nil
    }

    /// Whether a field has this value, ASCII letters compared without case; `value` is in lower case.
    func begins(_ place: FieldPlace, with value: StaticString) -> Bool {
        let count = value.utf8CodeUnitCount
        guard place.start <= place.end, Int(place.end - place.start) >= count else { return false }
        return bytes.withUnsafeBytes {
            $0.rebased(Int(place.start)..<Int(place.start) + count).equalsIgnoringCase(value)
        }
    }

    /// The key of the record, by its identifier.
    var key: RecordKey? { key(id) }
    /// That of the record that this one refers to.
    var refersToKey: RecordKey? { key(refersTo) }

    /// The records that this one belongs to (WARC-Concurrent-To, which may be repeated).
    var concurrentTo: [RecordKey] { targets.isEmpty ? [] : targets.compactMap(key) }

    private func key(_ place: FieldPlace) -> RecordKey? {
        guard place.start <= place.end else { return nil }
        return bytes.withUnsafeBytes { RecordKey(id: $0.rebased(Int(place.start)..<Int(place.end))) }
    }

    private mutating func add(_ input: UnsafeRawBufferPointer, _ line: Range<Int>) {
        guard let first = input.baseAddress.map({ $0 + line.lowerBound }),
            let found = memchr(first, 0x3A, line.count)
        else { return }
        let colon = line.lowerBound + (UnsafeRawPointer(found) - first)
        var name = input.rebased(line.lowerBound..<colon)
        if name.first.map({ $0 <= 0x20 }) == true || name.last.map({ $0 <= 0x20 }) == true {
            name = name.trimmingOptionalWhitespace
        }
        let place = RecordHead.value(input, colon + 1, line.upperBound)
        set(name, input.rebased(Int(place.start)..<Int(place.end)), place)
    }

    /// Without the blanks around it.
    @inline(__always)
    private static func value(_ input: UnsafeRawBufferPointer, _ from: Int, _ to: Int) -> FieldPlace {
        var start = from
        var end = to
        while start < end, input[start] == 0x20 || input[start] == 0x09 { start &+= 1 }
        while end > start, input[end &- 1] == 0x20 || input[end &- 1] == 0x09 { end &-= 1 }
        return FieldPlace(start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: end))
    }

    /// Takes a field whose name is written as in the standard, as nearly all are: the index of a large file is mostly
    /// this. The name is compared with the colon behind it, eight bytes at a time, so that no colon has to be looked
    /// for.
    ///
    /// - Returns: false for another name.
    @inline(__always)
    private mutating func addUsual(_ input: UnsafeRawBufferPointer, _ line: Range<Int>) -> Bool {
        // Bytes of the next lines may be compared, but no name has the end of a line in it.
        guard input.count &- line.lowerBound >= RecordHead.longestName,
            let first = input.baseAddress.map({ $0 + line.lowerBound })
        else { return false }
        @inline(__always)
        func has(_ name: StaticString) -> Bool {
            let other = name.bytes
            let last = name.utf8CodeUnitCount &- 8
            var index = 0
            while index < last {
                guard RecordHead.word(first + index) == RecordHead.word(other + index) else { return false }
                index &+= 8
            }
            return RecordHead.word(first + last) == RecordHead.word(other + last)
        }
        @inline(__always)
        func value(behind name: StaticString) -> FieldPlace {
            RecordHead.value(input, line.lowerBound &+ name.utf8CodeUnitCount, line.upperBound)
        }
        @inline(__always)
        func bytes(_ place: FieldPlace) -> UnsafeRawBufferPointer {
            input.rebased(Int(place.start)..<Int(place.end))
        }
        if has("WARC-Record-ID:") {
            id = value(behind: "WARC-Record-ID:")
        } else if has("WARC-Date:") {
            date = value(behind: "WARC-Date:")
        } else if has("WARC-Target-URI:") {
            url = value(behind: "WARC-Target-URI:")
        } else if has("WARC-Type:") {
            kind = RecordHead.kind(bytes(value(behind: "WARC-Type:")))
        } else if has("Content-Length:") {
            contentLength = bytes(value(behind: "Content-Length:")).decimalValue ?? -1
        } else if has("Content-Type:") {
            mediaType = value(behind: "Content-Type:")
        } else if has("WARC-Payload-Digest:") {
            payloadDigest = value(behind: "WARC-Payload-Digest:")
        } else if has("WARC-Block-Digest:") {
            blockDigest = value(behind: "WARC-Block-Digest:")
        } else if has("WARC-Concurrent-To:") {
            addTarget(value(behind: "WARC-Concurrent-To:"))
        } else {
            return has("WARC-IP-Address:")
        }
        return true
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawPointer) -> UInt64 { bytes.loadUnaligned(as: UInt64.self) }

    /// The most bytes that are compared of a line to tell its name, with the colon.
    private static let longestName = 20

    private mutating func set(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ place: FieldPlace) {
        guard let last = name.last else { return }
        // Names of the same length differ in their last letters, mostly.
        switch (name.count, last | 0x20) {
        case (9, UInt8(ascii: "e")):
            if name.equalsIgnoringCase("warc-type") {
                kind = RecordHead.kind(value)
            } else if name.equalsIgnoringCase("warc-date") {
                date = place
            }
        case (12, _): if name.equalsIgnoringCase("content-type") { mediaType = place }
        case (14, UInt8(ascii: "h")):
            if name.equalsIgnoringCase("content-length") { contentLength = value.decimalValue ?? -1 }
        case (14, UInt8(ascii: "d")):
            if name.equalsIgnoringCase("warc-record-id") {
                id = place
            } else if name.equalsIgnoringCase("warc-truncated") {
                hasTruncation = true
            }
        case (14, UInt8(ascii: "o")): if name.equalsIgnoringCase("warc-refers-to") { refersTo = place }
        case (15, UInt8(ascii: "i")): if name.equalsIgnoringCase("warc-target-uri") { url = place }
        case (17, _): if name.equalsIgnoringCase("warc-block-digest") { blockDigest = place }
        case (18, _): if name.equalsIgnoringCase("warc-concurrent-to") { addTarget(place) }
        case (19, UInt8(ascii: "t")): if name.equalsIgnoringCase("warc-payload-digest") { payloadDigest = place }
        case (19, UInt8(ascii: "e")): if name.equalsIgnoringCase("warc-refers-to-date") { refersToDate = place }
        case (19, UInt8(ascii: "r")): if name.equalsIgnoringCase("warc-segment-number") { isSegment = true }
        case (25, _): if name.equalsIgnoringCase("warc-refers-to-target-uri") { refersToURL = place }
        default: break
        }
    }

    private mutating func addTarget(_ place: FieldPlace) {
        if targets.count < RecordHead.maximumTargets { targets.append(place) }
    }

    private static func kind(_ value: UnsafeRawBufferPointer) -> Kind {
        // As it is written in nearly all.
        if value.count == 8, let first = value.baseAddress, word(first) == word(StaticString("response").bytes) {
            return .response
        }
        return switch value.count {
        case 7: value.equalsIgnoringCase("request") ? .request : value.equalsIgnoringCase("revisit") ? .revisit : .other
        case 8:
            value.equalsIgnoringCase("response") ? .response : value.equalsIgnoringCase("resource") ? .resource : .other
        default: .other
        }
    }
}

extension StaticString {
    @inline(__always)
    fileprivate var bytes: UnsafeRawPointer { UnsafeRawPointer(utf8Start) }
}
