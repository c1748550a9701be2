import HTTPSemantics

/// What of a recorded response's fields is sent again.
public enum OutgoingFields {
    /// The fields of an entry's answer, in their order and with their repetitions.
    ///
    /// - Parameters:
    ///   - keepsFreshness: whether Cache-Control, Expires and Pragma are sent, and times moved by the time since the
    ///     recording; else Cache-Control is `no-cache`.
    ///   - now: Unix seconds.
    public static func make(_ exchange: RecordedExchange, keepsFreshness: Bool, now: Int64) -> [RecordedField] {
        let nominated = nominated(by: exchange.fields)
        var fields = exchange.fields.filter { field in
            let name = field.name.map(\.asciiLowercased)
            return !neverSent.contains(name) && !nominated.contains(name) && isValid(field) && !isOfProxies(field)
        }
        // A part that is the whole is sent as the whole, with status 200.
        if exchange.status == 206, !isPart(exchange) { fields.removeAll { $0.isNamed("content-range") } }
        guard keepsFreshness else {
            fields.removeAll { $0.isNamed("cache-control") || $0.isNamed("expires") || $0.isNamed("pragma") }
            fields.append(RecordedField("Cache-Control", "no-cache"))
            return fields
        }
        guard let time = exchange.time else { return fields }
        let shift = now - time / 1000
        return fields.map { moved($0, by: shift, now: now) }
    }

    /// Whether a recorded 206 is a part and not the whole, by its Content-Range.
    public static func isPart(_ exchange: RecordedExchange) -> Bool {
        guard exchange.status == 206, let digits = contentRange(exchange) else { return exchange.status == 206 }
        guard digits.count == 3 else { return true }
        return !(digits[0] == 0 && digits[2] > 0 && digits[1] == digits[2] - 1)
    }

    /// The content codings that can be taken off a recorded body: none of a part, which is one of coded bytes.
    public static func removableCodings(_ exchange: RecordedExchange) -> [String] {
        isPart(exchange) ? [] : exchange.body.codings
    }

    /// Whether a recorded 206 is a part that does not begin where the whole does.
    static func isFromWithin(_ exchange: RecordedExchange) -> Bool {
        isFromWithin(exchange.status, exchange.value("content-range"))
    }

    /// The numbers of Content-Range: `bytes 0-99/100`; nil where the field is missing.
    public static func contentRange(_ exchange: RecordedExchange) -> [Int]? {
        exchange.value("content-range").map(numbers)
    }

    private static func numbers(_ contentRange: [UInt8]) -> [Int] {
        contentRange.split { !(0x30...0x39).contains($0) }.map { digits in
            digits.prefix(18).reduce(0) { $0 * 10 + Int($1 & 15) }
        }
    }

    /// Whether a status and a Content-Range are those of a part that does not begin where the whole does.
    static func isFromWithin(_ status: Int?, _ contentRange: [UInt8]?) -> Bool {
        status == 206 && (contentRange.flatMap { numbers($0).first } ?? 0) > 0
    }

    // MARK: What is never sent

    private static let neverSent: Set<[UInt8]> = Set(
        [
            "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "content-length", "__hhaa__",
            "date", "age", "via", "cache-status", "proxy-status", "strict-transport-security", "expect-ct", "alt-svc",
            "nel", "report-to", "reporting-endpoints", "clear-site-data",
        ].map { Array($0.utf8) })

    /// The names, in lower case, of the fields that Connection nominates: they were for that connection alone
    /// (RFC 9110 §7.6.1).
    static func nominated(by fields: [RecordedField]) -> Set<[UInt8]> {
        var names: Set<[UInt8]> = []
        for field in fields where field.isNamed("connection") {
            for element in field.value.split(separator: UInt8(ascii: ",")) {
                let words = element.split { $0 == 0x20 || $0 == 0x09 }
                guard words.count == 1 else { continue }
                let name = words[0].map(\.asciiLowercased)
                if name.withUnsafeBytes({ HopByHop.mayNominate($0) }) { names.insert(name) }
            }
        }
        return names
    }

    private static func isOfProxies(_ field: RecordedField) -> Bool {
        let name = field.name.map(\.asciiLowercased)
        return name.starts(with: "proxy-".utf8) || name.starts(with: "public-key-pins".utf8)
            || name.first == UInt8(ascii: ":")
    }

    /// Whether name and value are a field's (RFC 9110 §5.1, §5.5).
    static func isValid(_ field: RecordedField) -> Bool {
        !field.name.isEmpty && field.name.count <= 65_535 && field.name.allSatisfy { $0.isMember(of: .token) }
            && field.value.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
            && field.value.first != 0x20 && field.value.first != 0x09 && field.value.last != 0x20
            && field.value.last != 0x09
    }

    // MARK: Times

    private static func moved(_ field: RecordedField, by shift: Int64, now: Int64) -> RecordedField {
        if field.isNamed("expires") || field.isNamed("last-modified") {
            let time = field.value.withUnsafeBytes { HTTPDate.parse($0, now: now) }
            guard let moved = moved(time, by: shift) else { return field }
            return RecordedField(field.name, moved)
        }
        guard field.isNamed("set-cookie") else { return field }
        var parts = field.value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        for index in parts.indices.dropFirst() {
            let halves = parts[index].split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, isExpires(halves[0]),
                let moved = moved(CookieDate.parse(Array(halves[1])), by: shift)
            else { continue }
            parts[index] = (Array(" Expires=".utf8) + moved)[...]
        }
        return RecordedField(field.name, Array(parts.joined(separator: [UInt8(ascii: ";")])))
    }

    /// Whether an attribute of a cookie has this name, with blanks around it or none (RFC 6265 §5.2).
    private static func isExpires(_ name: ArraySlice<UInt8>) -> Bool {
        let words = name.split { $0 == 0x20 || $0 == 0x09 }
        return words.count == 1 && words[0].map(\.asciiLowercased).elementsEqual("expires".utf8)
    }

    private static func moved(_ time: Int64?, by shift: Int64) -> [UInt8]? {
        guard let time else { return nil }
        let (moved, overflow) = time.addingReportingOverflow(shift)
        // What the format of dates holds: the years 1 to 9999.
        guard !overflow, moved > -62_135_596_800, moved < 253_402_300_800 else { return nil }
        return HTTPDate.bytes(moved)
    }
}
