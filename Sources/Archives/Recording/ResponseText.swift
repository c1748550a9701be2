import Basics
import HTTPSemantics

/// What a response's body is, for whoever looks for members of JSON in it.
///
/// Many a server labels JSON as HTML, as plain text, or not at all. So it is told by its first bytes too, and JSONP by
/// the call that it is as a whole.
enum ResponseText {
    case json
    /// JSON in UTF-16 or UTF-32.
    case wide
    /// A stream of events (HTML, "Server-sent events"), each of whose lines of data may be JSON.
    case events
    /// There are no members in it.
    case other

    /// So many of the first bytes say what it may be.
    static let beginning = 1024
    /// What stands before JSON to keep other sites' scripts from reading it.
    private static let guards = [")]}'", "while(1);", "for(;;);"]

    init(_ body: [UInt8], type: [UInt8]) {
        self = ResponseText.mayBe(body.prefix(ResponseText.beginning), type: type)
        guard self == .json, ResponseText.isProgram(type) else { return }
        // A script may begin like JSON, or with a call.
        if !JSONRedaction.isJSON(Array(body[ResponseText.value(body)])) { self = .other }
    }

    /// What a body may be that begins so.
    static func mayBe(_ beginning: ArraySlice<UInt8>, type: [UInt8]) -> ResponseText {
        let start = Array(beginning)
        let isLabelled = Redaction.isJSON(type: type)
        if isEventStream(type) { return .events }
        if let narrow = Redaction.narrow(start) {
            return isLabelled || begins(narrow) || callStart(narrow) != nil ? .wide : .other
        }
        return isLabelled || begins(start) || callStart(start) != nil ? .json : .other
    }

    /// Whether a text begins as an object or a list does, or as a text that has one, also behind what keeps other
    /// sites' scripts from reading it.
    static func begins(_ text: [UInt8]) -> Bool {
        let text = text.drop { isBlank($0) }
        return ([""] + guards).contains { mark in
            text.starts(with: mark.utf8)
                && isValue(text.dropFirst(mark.utf8.count).drop { isBlank($0) || $0 == UInt8(ascii: ",") })
        }
    }

    /// Whether an object or a list begins here, or a text that begins as one or with an escape.
    private static func isValue(_ text: ArraySlice<UInt8>) -> Bool {
        let first = text.first == UInt8(ascii: "\"") ? text.dropFirst().first { !isBlank($0) } : text.first
        guard let first else { return false }
        return "{[".utf8.contains(first) || first == UInt8(ascii: "\\") && text.first == UInt8(ascii: "\"")
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte <= 0x20 && byte != 0 || byte == 0xEF || byte == 0xBB || byte == 0xBF
    }

    private static func isEventStream(_ type: [UInt8]) -> Bool {
        type.withUnsafeBytes { MediaType($0) }.map { Array($0.essence) }?.elementsEqual("text/event-stream".utf8)
            == true
    }

    /// Where the data of each event stands, which may have several lines: from the first of them to the last.
    static func eventValues(_ body: [UInt8]) -> [Range<Int>] {
        var values: [Range<Int>] = []
        var value: Range<Int>?
        var index = body.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while index < body.count {
            let end = body[index...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? body.count
            if body[index..<end].starts(with: "data:".utf8) {
                value = (value?.lowerBound ?? index + 5)..<end
            } else if index == end, let known = value, !isWithinLineEnd(body, index) {
                values.append(known)
                value = nil
            }
            index = end + 1
        }
        return values + (value.map { [$0] } ?? [])
    }

    private static func isWithinLineEnd(_ body: [UInt8], _ index: Int) -> Bool {
        index > 0 && index < body.count && body[index - 1] == 0x0D && body[index] == 0x0A
    }

    static func isProgram(_ type: [UInt8]) -> Bool {
        let type = String(decoding: type.prefix(64), as: UTF8.self).lowercased()
        return ["javascript", "ecmascript", "text/css"].contains { type.contains($0) }
    }

    /// Where the argument begins of a text that begins with a call, as `callback({` and `a.b["c"]([` do; comments may
    /// stand before it.
    private static func callStart(_ text: [UInt8]) -> Int? {
        var index = 0
        var hasName = false
        let end = min(text.count, beginning)
        while index < end {
            let byte = text[index]
            if text[index..<end].starts(with: "//".utf8) {
                index = text[index..<end].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? end
                continue
            }
            if text[index..<end].starts(with: "/*".utf8) {
                let body = text[(index + 2)..<end]
                guard let close = body.indices.first(where: { body[$0...].starts(with: "*/".utf8) }) else { return nil }
                index = close + 2
                continue
            }
            if byte == UInt8(ascii: "("), hasName {
                return isValue(text[(index + 1)..<end].drop { isBlank($0) }) ? index + 1 : nil
            }
            let isName =
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...: true
                default: "_$.[]'\"&;=".utf8.contains(byte)
                }
            guard isName || isBlank(byte) else { return nil }
            if isName, byte != UInt8(ascii: ";") { hasName = true }
            index += 1
        }
        return nil
    }

    /// What stands between the brackets of a text that is one call.
    private static func argument(_ text: [UInt8]) -> Range<Int>? {
        guard let start = callStart(text), let end = text.lastIndex(of: UInt8(ascii: ")")), start <= end,
            text[(end + 1)...].allSatisfy({ isBlank($0) || $0 == UInt8(ascii: ";") })
        else { return nil }
        return start..<end
    }

    /// Where the JSON of a body stands: behind a guard, between the brackets of a call, or all of it.
    static func value(_ body: [UInt8]) -> Range<Int> {
        if let call = argument(body) { return call }
        let start = body.firstIndex { !isBlank($0) } ?? 0
        for mark in guards where body[start...].starts(with: mark.utf8) {
            let rest = body[(start + mark.utf8.count)...]
            return (rest.firstIndex { !isBlank($0) && $0 != UInt8(ascii: ",") } ?? body.count)..<body.count
        }
        return 0..<body.count
    }
}
