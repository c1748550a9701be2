import Basics
import HTTPSemantics

/// What else is written of an exchange, beside what it says itself.
public struct HARDetails: Sendable {
    /// The page that it belongs to, by its `id`.
    public var page: String?
    /// Why the response is not whole, for `_error`; nil where it is.
    public var error: String?

    public init() {}
}

/// Writes HAR 1.2: a beginning, entries, an end.
///
/// Between two entries a file of the beginning, the entries so far and the end is valid JSON: whoever appends an entry
/// writes it over the end, with ``separator`` before it unless it is the first, and the end behind it, all at once.
public enum HARWriter {
    /// What stands between two entries.
    public static let separator = Array(",".utf8)
    /// What stands behind the last entry.
    public static let end = Array("\n]}}\n".utf8)

    /// Whether some bytes end the list of entries, the log and the file, and nothing else.
    public static func isEnd(_ bytes: [UInt8]) -> Bool { bytes.filter { !isBlank($0) }.elementsEqual("]}}".utf8) }

    /// Where the bracket of the log's list ends that nothing stands behind but the end; nil for another text.
    ///
    /// - Parameter text: the whole file.
    public static func emptyListEnd(_ text: [UInt8]) -> Int? {
        var scanner = JSONScanner(ArchiveBytes(text))
        do throws(JSONError) {
            try scanner.beginning()
            guard try find("log", in: &scanner), try find("entries", in: &scanner), try scanner.enterArray() else {
                return nil
            }
            return isEnd(Array(text[scanner.offset...])) ? scanner.offset : nil
        } catch {
            return nil
        }
    }

    /// Enters the object that stands next, and goes to the value of a member.
    ///
    /// - Returns: whether there is such an object and such a member.
    private static func find(_ name: StaticString, in scanner: inout JSONScanner) throws(JSONError) -> Bool {
        guard try scanner.enterObject() else { return false }
        while let found = try scanner.nextMember() {
            if found.equals(name) { return true }
            try scanner.skipValue()
        }
        return false
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    /// What stands before the first entry. The pages' `id` are `page_1` and so on.
    ///
    /// - Parameters:
    ///   - name: the program that writes, with its version.
    ///   - time: when the pages were begun that don't say, in Unix milliseconds.
    public static func beginning(name: String, version: String, pages: [ArchivePage] = [], time: Int64 = 0) -> [UInt8] {
        var json = JSONLine()
        json.raw(#"{"log":{"version":"1.2","creator":{"name":"#)
        json.string(name)
        json.raw(#","version":"#)
        json.string(version)
        json.raw(#"},"pages":["#)
        for (index, page) in pages.enumerated() {
            json.raw(index == 0 ? "\n" : ",\n")
            json.raw(#"{"startedDateTime":"#)
            json.string(HARTime.text(page.time ?? time))
            json.raw(#","id":"#)
            json.string("page_\(index + 1)")
            json.raw(#","title":"#)
            json.string(page.title.map { Array($0.utf8) } ?? page.url)
            json.raw(#","pageTimings":{"onContentLoad":-1,"onLoad":-1}}"#)
        }
        json.raw(#"],"entries":["#)
        return json.bytes
    }

    /// A whole entry, of a body that is in memory.
    ///
    /// - Parameter body: without transfer codings, with the content codings that the exchange tells.
    public static func entry(_ exchange: RecordedExchange, body: [UInt8], details: HARDetails = .init()) -> [UInt8] {
        var probe = HARBodyProbe()
        probe.add(body)
        var writer = HAREntryWriter(exchange, probe, details: details)
        var bytes = writer.begin()
        writer.append(body, to: &bytes)
        writer.finish(into: &bytes)
        return bytes
    }
}

/// Finds out how a body is best written, before it is: feed it all of the body.
public struct HARBodyProbe: Sendable {
    /// How many bytes there were.
    public private(set) var count = 0
    private(set) var start: [UInt8] = []
    private var pending: [UInt8] = []
    private var isValid = true
    /// Whether it has an ESC, as texts in ISO-2022-JP do, whose bytes are all ASCII.
    private(set) var hasEscape = false

    public init() {}

    /// So many of the first bytes count.
    public static let startCount = 4

    /// One that has had a body that is no text (``HAREntryWriter/isText(_:)``): little of it counts then.
    ///
    /// - Parameter start: its first ``startCount`` bytes.
    public init(count: Int, start: [UInt8]) {
        self.count = count
        self.start = start
    }

    /// Whether it was all UTF-8.
    var isUTF8: Bool { isValid && pending.isEmpty }
    /// Whether it can be UTF-8, by what there was of it.
    var isUTF8SoFar: Bool { isValid }

    /// The next bytes of the body.
    public mutating func add(_ bytes: [UInt8]) {
        count += bytes.count
        if start.count < HARBodyProbe.startCount { start += bytes.prefix(HARBodyProbe.startCount - start.count) }
        guard isValid else { return }
        let text = pending.isEmpty ? bytes : pending + bytes
        // A character may go on in the next piece: at most three bytes of it are here.
        var whole = text.count
        for back in 1..<4 where back <= text.count {
            let byte = text[text.count - back]
            guard byte & 0xC0 == 0xC0 else {
                if byte & 0x80 == 0 { break }
                continue
            }
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2
            if length > back { whole = text.count - back }
            break
        }
        pending = Array(text[whole...])
        isValid = String(validating: text[..<whole], as: UTF8.self) != nil
        hasEscape = hasEscape || bytes.contains(0x1B)
    }
}

/// Writes one entry, its body piece by piece.
public struct HAREntryWriter: Sendable {
    private enum Form { case none, text, base64 }

    private let exchange: RecordedExchange
    private let details: HARDetails
    private let probe: HARBodyProbe
    private let form: Form
    private var base64 = Base64Encoder()

    /// - Parameter probe: one that has had all of the body.
    public init(_ exchange: RecordedExchange, _ probe: HARBodyProbe, details: HARDetails = .init()) {
        self.exchange = exchange
        self.probe = probe
        self.details = details
        if exchange.body.isMissing || probe.count == 0 || exchange.method == "HEAD" {
            form = .none
        } else {
            let isText = probe.isUTF8 && HAREntryWriter.isText(exchange)
            form = isText && !(probe.hasEscape && HAREntryWriter.isWithoutCharset(exchange)) ? .text : .base64
        }
    }

    /// Whether the type says no charset: then the body may be in one whose bytes are ASCII.
    private static func isWithoutCharset(_ exchange: RecordedExchange) -> Bool {
        let type = exchange.value("content-type").flatMap { $0.withUnsafeBytes { MediaType($0) } }
        return type?.parameter("charset") == nil
    }

    /// Whether the body is of a type that people read. A charset that isn't UTF-8 would be lost: a string of JSON has
    /// characters, and bytes are made of it in UTF-8.
    public static func isText(_ exchange: RecordedExchange) -> Bool {
        guard let value = exchange.value("content-type"), let type = value.withUnsafeBytes({ MediaType($0) }) else {
            return false
        }
        let isForm = type.essence.elementsEqual("application/x-www-form-urlencoded".utf8)
        guard type.isText || isForm else { return false }
        guard let charset = type.parameter("charset") else { return true }
        return charset.withUnsafeBytes { $0.equalsIgnoringCase("utf-8") || $0.equalsIgnoringCase("utf8") }
    }

    /// The entry up to its body.
    public mutating func begin() -> [UInt8] {
        var json = JSONLine()
        json.raw("\n{")
        if let page = details.page {
            json.raw(#""pageref":"#)
            json.string(page)
            json.raw(",")
        }
        json.raw(#""startedDateTime":"#)
        json.string(HARTime.text(exchange.time ?? 0))
        json.raw(#","time":\#(duration),"request":"#)
        HARRequestWriter.write(exchange, to: &json)
        json.raw(#","response":{"status":\#(exchange.status),"statusText":"#)
        json.string(exchange.reason)
        json.raw(#","httpVersion":"#)
        json.string(exchange.httpVersion)
        json.raw(#","cookies":"#)
        HARCookies.write(exchange.fields, to: &json)
        json.raw(#","headers":"#)
        json.fields(fields)
        json.raw(#","redirectURL":"#)
        json.string(exchange.value("location") ?? [])
        json.raw(#","headersSize":-1,"bodySize":-1,"content":{"size":\#(size),"mimeType":"#)
        json.string(exchange.value("content-type") ?? Array("x-unknown".utf8))
        switch form {
        case .none: break
        case .text: json.raw(#","text":""#)
        case .base64: json.raw(#","encoding":"base64","text":""#)
        }
        return json.bytes
    }

    private var duration: Int64 { max(exchange.duration ?? 0, 0) }

    private var size: Int {
        exchange.body.isMissing && exchange.method != "HEAD" ? -1 : form == .none ? 0 : probe.count
    }

    /// The response's fields. A coding that the body hasn't any more, but seems to have, would be undone once more.
    private var fields: [RecordedField] {
        let isSeeming =
            exchange.body.codings.isEmpty
            && (probe.start.starts(with: [0x1F, 0x8B]) || probe.start.starts(with: [0x28, 0xB5, 0x2F, 0xFD]))
        guard isSeeming else { return exchange.fields }
        return exchange.fields.filter { !$0.isNamed("content-encoding") }
    }

    /// Appends the next bytes of the body, as they are written.
    public mutating func append(_ body: [UInt8], to bytes: inout [UInt8]) {
        switch form {
        case .none: break
        case .text: JSONLine.escape(body, to: &bytes)
        case .base64: base64.encode(body, into: &bytes)
        }
    }

    /// Appends what stands behind the body.
    public mutating func finish(into bytes: inout [UInt8]) {
        if form == .base64 { base64.finish(into: &bytes) }
        var json = JSONLine()
        if form != .none { json.raw("\"") }
        json.raw("}}")
        json.raw(#","cache":{},"timings":{"send":0,"wait":\#(duration),"receive":0}"#)
        if !exchange.serverAddress.isEmpty {
            json.raw(#","serverIPAddress":"#)
            json.string(exchange.serverAddress)
        }
        if let error = details.error {
            json.raw(#","_error":"#)
            json.string(error)
        }
        json.raw("}")
        bytes += json.bytes
    }
}
