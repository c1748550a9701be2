import HTTPSemantics

/// Writes entries of `recording.yaml`: lists of what was asked and answered, with the options of a rule.
enum RecordingEntry {
    /// Where a body is.
    enum Body {
        /// There was none, or it is empty.
        case empty
        /// It was not recorded.
        case missing
        /// In a file, by its path below the recording's folder.
        case file([UInt8])
    }

    /// An entry's lines.
    ///
    /// - Parameters:
    ///   - requestBody: where the request's body is, if it is in a file.
    static func text(_ exchange: RecordedExchange, _ body: Body, requestBody: [UInt8]?) -> [UInt8] {
        var lines: [UInt8] = []
        func add(_ text: String, _ value: [UInt8]) { lines += Array(text.utf8) + value + [0x0A] }
        add("- url: ", value(exchange.url, in: .block))
        if exchange.method != "GET" { add("  method: ", value(Array(exchange.method.utf8), in: .block)) }
        if let request = request(exchange, file: requestBody) { add("  request: ", request) }
        if exchange.status != 200 { add("  status: ", Array("\(exchange.status)".utf8)) }
        let fields = fields(exchange, body)
        if !fields.isEmpty { add("  headers:", []) }
        for field in fields { add("    - ", field) }
        switch body {
        case .empty: break
        case .missing: add("  file: ", Array("null".utf8))
        case .file(let path): add("  file: ", value(path, in: .block))
        }
        return lines
    }

    // MARK: Request

    /// `{ headers: [Content-Type: application/json], json: { sort: name } }`; nil where there is nothing to say.
    private static func request(_ exchange: RecordedExchange, file: [UInt8]?) -> [UInt8]? {
        var members: [[UInt8]] = []
        let nominated = OutgoingFields.nominated(by: exchange.requestFields)
        let fields = exchange.requestFields.filter { !isOfConnection($0, nominated) }
            .compactMap { line($0, in: .flow) }
        if !fields.isEmpty {
            members.append(Array("headers: [".utf8) + Array(fields.joined(separator: Array(", ".utf8))) + [0x5D])
        }
        if let file {
            members.append(Array("file: ".utf8) + value(file, in: .flow))
        } else if let body = exchange.requestBody, !body.isEmpty {
            members.append(inline(body))
        }
        guard !members.isEmpty else { return nil }
        return Array("{ ".utf8) + Array(members.joined(separator: Array(", ".utf8))) + Array(" }".utf8)
    }

    private static func inline(_ body: [UInt8]) -> [UInt8] {
        if let json = JSONInYAML.flow(body) { return Array("json: ".utf8) + json }
        if let text = YAMLText.scalar(body, in: .flow, keepsType: true) { return Array("text: ".utf8) + text }
        return Array("base64: ".utf8) + base64(body)
    }

    // MARK: Fields

    /// The response's fields, each as `Name: value`.
    private static func fields(_ exchange: RecordedExchange, _ body: Body) -> [[UInt8]] {
        let nominated = OutgoingFields.nominated(by: exchange.fields)
        let time = time(of: exchange)
        var lines = exchange.fields.filter { isKept($0, exchange, nominated) }
            .compactMap { line(timeless($0, at: time), in: .block) }
        if case .file = body, exchange.value("content-type") == nil {
            // Else it would be that of the file's name.
            lines.append(Array("Content-Type: null".utf8))
        }
        return lines
    }

    private static func isKept(
        _ field: RecordedField, _ exchange: RecordedExchange, _ nominated: Set<[UInt8]>
    ) -> Bool {
        if field.isNamed("content-length") { return exchange.method == "HEAD" }
        return !isOfConnection(field, nominated) && !timed.contains(field.name.map(\.asciiLowercased))
    }

    /// Fields that are times of an exchange, or say how it went: they would make each recording another one.
    private static let timed: Set<[UInt8]> = Set(
        [
            "date", "age", "expires", "via", "cache-status", "proxy-status", "server-timing", "x-runtime",
            "x-response-time", "x-process-time", "x-timer", "x-envoy-upstream-service-time",
            "x-kong-upstream-latency", "x-kong-proxy-latency", "x-kong-response-latency",
        ].map { Array($0.utf8) })

    /// When the response was made, in Unix seconds: by its own clock, else by the recorder's.
    private static func time(of exchange: RecordedExchange) -> Int64? {
        let recorded = exchange.time.map { $0 / 1000 }
        let own = exchange.value("date").flatMap { date in
            date.withUnsafeBytes { HTTPDate.parse($0, now: recorded ?? 0) }
        }
        return own ?? recorded
    }

    /// A cookie with Max-Age has no use for Expires, which is another time in each exchange (RFC 6265 §4.1.2.2). One
    /// that has Expires alone gets Max-Age in its place: it lasts as long in each, and from a replay on.
    private static func timeless(_ field: RecordedField, at time: Int64?) -> RecordedField {
        guard field.isNamed("set-cookie") else { return field }
        let parts = field.value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        func isNamed(_ part: ArraySlice<UInt8>, _ name: StaticString) -> Bool {
            let name = name.withUTF8Buffer { Array($0) }
            let attribute = part.drop { $0 == 0x20 }.prefix { $0 != UInt8(ascii: "=") }
            return attribute.map(\.asciiLowercased) == name
        }
        let attributes = parts.dropFirst()
        var kept = Array(parts.prefix(1) + attributes.filter { !isNamed($0, "expires") })
        if !attributes.contains(where: { isNamed($0, "max-age") }) {
            guard let expires = attributes.last(where: { isNamed($0, "expires") }), let time,
                let lifetime = lifetime(until: expires.drop { $0 != UInt8(ascii: "=") }.dropFirst(), from: time)
            else { return field }
            kept.insert(Array(" Max-Age=\(lifetime)".utf8)[...], at: 1)
        }
        return RecordedField(field.name, Array(kept.joined(separator: [UInt8(ascii: ";")])))
    }

    /// The seconds from a time to a cookie's date: 0 for a date that is over, which removes the cookie (RFC 6265
    /// §5.2.2), and at most the 400 days for which browsers keep one (RFC 6265bis §5.5). Nil for what is no date.
    ///
    /// Two clocks are read, one behind the other: what is within two seconds of whole minutes is those.
    private static func lifetime(until expires: some Sequence<UInt8>, from time: Int64) -> Int64? {
        guard let end = CookieDate.parse(Array(expires)) else { return nil }
        let (difference, overflow) = end.subtractingReportingOverflow(time)
        guard !overflow else { return nil }
        let seconds = min(max(difference, 0), 400 * 86_400)
        let whole = (seconds + 30) / 60 * 60
        return whole > 0 && abs(whole - seconds) <= 2 ? whole : seconds
    }

    /// Fields of the connection, and of how the message was sent on it.
    ///
    /// - Parameter nominated: what Connection nominates, which is not written itself.
    private static func isOfConnection(_ field: RecordedField, _ nominated: Set<[UInt8]>) -> Bool {
        let name = field.name.map(\.asciiLowercased)
        return connection.contains(name) || nominated.contains(name) || name.starts(with: "proxy-".utf8)
            || name.first == UInt8(ascii: ":") || !OutgoingFields.isValid(field)
    }

    private static let connection: Set<[UInt8]> = Set(
        ["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "host", "__hhaa__", "expect"]
            .map { Array($0.utf8) })

    private static func line(_ field: RecordedField, in context: YAMLText.Context) -> [UInt8]? {
        // It follows from the request's body.
        if context == .flow, field.isNamed("content-length") { return nil }
        guard let name = YAMLText.key(field.name) else { return nil }
        return name + Array(": ".utf8) + value(field.value, in: context)
    }

    /// A text, or where it is none, `{ base64: … }`.
    private static func value(_ text: [UInt8], in context: YAMLText.Context) -> [UInt8] {
        YAMLText.scalar(text, in: context) ?? Array("{ base64: ".utf8) + base64(text) + Array(" }".utf8)
    }

    /// In quotes, since a text may read as a number.
    static func base64(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = [UInt8(ascii: "\"")]
        var encoder = Base64Encoder()
        encoder.encode(bytes, into: &text)
        encoder.finish(into: &text)
        return text + [UInt8(ascii: "\"")]
    }
}
