import Basics
import HTTPSemantics

/// Takes credentials out of exchanges before they are written: the values of some fields, and of parameters in queries,
/// forms and JSON of requests become `REDACTED`, which equals any value when a request is matched.
public struct Redaction: Sendable {
    /// What stands in the place of a value.
    public static let mark = Array("REDACTED".utf8)
    /// The name that stands for the standard ones.
    public static let standardName = "default"

    /// Fields whose values are taken out, in lower case.
    static let standardFields = [
        "cookie", "set-cookie", "authorization", "proxy-authorization", "x-api-key", "x-auth-token", "x-csrf-token",
        "x-xsrf-token",
    ]
    /// Parameters whose values are taken out, in lower case.
    static let standardParameters = [
        "access_token", "refresh_token", "id_token", "token", "api_key", "apikey", "password", "passwd", "secret",
        "client_secret", "assertion", "samlrequest", "samlresponse", "code_verifier", "signature", "sig",
    ]

    /// Takes the values of fields out alone, and leaves URLs and bodies as they are.
    public static let ofFields = Redaction(
        fields: FieldNames(Set(standardFields.map { Array($0.utf8) })), parameters: RedactedNames([]),
        ownParameters: RedactedNames([]), takesUsers: false)

    private let fields: FieldNames
    let parameters: RedactedNames
    private let ownParameters: RedactedNames
    /// Whether names and passwords go that stand before hosts in URLs, as in `https://user:password@host/`.
    private let takesUsers: Bool

    /// - Parameter names: of fields, parameters and members of JSON, in any case; `default` stands for the standard
    ///   ones. Those that are named beside it are looked for in JSON of responses too.
    public init(names: some Sequence<String>) {
        let names = names.map { RedactedNames.folded($0.utf8) }
        let own = Set(names.filter { !$0.elementsEqual(Redaction.standardName.utf8) && !$0.isEmpty })
        let hasStandard = names.contains { $0.elementsEqual(Redaction.standardName.utf8) }
        func joined(_ standard: [String]) -> Set<[UInt8]> {
            own.union(hasStandard ? standard.map { Array($0.utf8) } : [])
        }
        fields = FieldNames(joined(Redaction.standardFields))
        parameters = RedactedNames(joined(Redaction.standardParameters))
        ownParameters = RedactedNames(own)
        takesUsers = hasStandard
    }

    private init(fields: FieldNames, parameters: RedactedNames, ownParameters: RedactedNames, takesUsers: Bool) {
        (self.fields, self.parameters, self.ownParameters) = (fields, parameters, ownParameters)
        self.takesUsers = takesUsers
    }

    /// Whether bodies of responses are changed: what is JSON of them has to be in memory for that.
    public var changesResponses: Bool { !ownParameters.isEmpty }

    /// The exchange without what is to be taken out.
    public func redacted(_ exchange: RecordedExchange) -> RecordedExchange {
        var exchange = exchange
        redact(&exchange)
        return exchange
    }

    /// Takes out of an exchange what is to be taken out.
    public func redact(_ exchange: inout RecordedExchange) {
        if let url = changed(exchange.url) { exchange.url = url }
        // Most fields stay, and are not touched for that.
        for index in exchange.requestFields.indices where mayChange(exchange.requestFields[index]) {
            exchange.requestFields[index] = requestField(exchange.requestFields[index])
        }
        for index in exchange.fields.indices where mayChange(exchange.fields[index]) {
            exchange.fields[index] = responseField(exchange.fields[index])
        }
        if let body = exchange.requestBody {
            let codings = ContentDecoder.codings(of: exchange.requestFields)
            let type = Redaction.type(exchange.requestFields)
            let isReadable = codings.isEmpty && !isWide(body, type: type)
            let isKept = isReadable || body.isEmpty || isHarmless(body, codings, type: type)
            exchange.requestBody = isKept ? requestBody(body, type: type) : nil
        }
    }

    /// Whether nothing is to be taken out of a coded body of a request. One that can't be decoded may have anything, as
    /// one in UTF-16 or UTF-32 may.
    private func isHarmless(_ body: [UInt8], _ codings: [String], type: [UInt8]) -> Bool {
        do throws(ArchiveProblem) {
            var stream = try ContentDecoder.stream(
                MemoryStream(body), codings: codings, storedBytes: body.count, limits: ArchiveLimits())
            let decoded = try stream.readAll(limit: 16 << 20)
            return !isWide(decoded, type: type) && requestBody(decoded, type: type) == decoded
        } catch {
            return false
        }
    }

    /// Whether a body is a text in UTF-16 or UTF-32, in which nothing is found: it begins with the byte order mark of
    /// one, or with two letters of one, where these are JSON's or its label says JSON, a form, or one of these.
    private func isWide(_ body: [UInt8], type: [UInt8]) -> Bool {
        guard !parameters.isEmpty else { return false }
        if Redaction.hasWideMark(body) { return true }
        guard Redaction.hasWideLetters(body) else { return false }
        if let first = body.first(where: { $0 != 0 }), "{[\"".utf8.contains(first) { return true }
        let label = String(decoding: type, as: UTF8.self).lowercased()
        return ["json", "form", "utf-16", "utf-32"].contains { label.contains($0) }
    }

    /// Whether a body begins with two letters of UTF-16 or UTF-32.
    static func hasWideLetters(_ body: [UInt8]) -> Bool {
        // Frames of gRPC, which may be labelled JSON too, begin with zeros and a length.
        func isLetter(_ byte: UInt8) -> Bool { [0x09, 0x0A, 0x0D].contains(byte) || (0x20...0x7E).contains(byte) }
        let beginnings: [[Bool]] = [
            [false, true, false, true], [true, false, true, false],
            [false, false, false, true, false, false, false, true],
            [true, false, false, false, true, false, false, false],
        ]
        let isOne = beginnings.contains { beginning in
            zip(beginning, body).allSatisfy { $0 ? isLetter($1) : $1 == 0 }
        }
        return body.count > 1 && isOne
    }

    /// Whether a body begins with the byte order mark of UTF-16 or UTF-32.
    static func hasWideMark(_ body: [UInt8]) -> Bool {
        let marks: [[UInt8]] = [[0xFF, 0xFE], [0xFE, 0xFF], [0x00, 0x00, 0xFE, 0xFF]]
        return marks.contains { body.starts(with: $0) }
    }

    /// The letters of a text in UTF-16 or UTF-32, if all are ASCII; nil for a body that doesn't begin as one.
    static func narrow(_ body: [UInt8]) -> [UInt8]? {
        guard hasWideMark(body) || hasWideLetters(body) else { return nil }
        return body.filter { $0 != 0 && $0 != 0xFE && $0 != 0xFF }
    }

    static func type(_ fields: [RecordedField]) -> [UInt8] { fields.first { $0.isNamed("content-type") }?.value ?? [] }

    // MARK: URLs and fields

    /// A text, such as a page's title, in which URLs may stand, without what ``url(_:)`` takes out of them.
    public func text(_ text: [UInt8]) -> [UInt8] { parameters.redactedURLs(withoutUsers(text)) }

    /// A URL without its user information, and without the values of some parameters in its query, and in its fragment,
    /// where a redirect may have one.
    public func url(_ url: [UInt8]) -> [UInt8] { changed(url) ?? url }

    /// The same; nil where it has neither user information, nor query, nor fragment.
    private func changed(_ whole: [UInt8]) -> [UInt8]? {
        let bare = withoutUser(whole)
        let url = bare ?? whole
        guard let start = url.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
            return bare
        }
        var result = Array(url[...start])
        var rest = url[(start + 1)...]
        if url[start] == UInt8(ascii: "?"), let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
            result += parameters.redactedPairs(rest[..<hash]) + [UInt8(ascii: "#")]
            rest = rest[(hash + 1)...]
        }
        return result + parameters.redactedPairs(rest)
    }

    /// A URL without the user information in its authority (RFC 3986 §3.2.1); nil where it has none.
    private func withoutUser(_ url: [UInt8]) -> [UInt8]? {
        guard takesUsers, let slash = url.firstIndex(where: { "/?#".utf8.contains($0) }),
            url[slash...].starts(with: "//".utf8), slash == 0 || url[slash - 1] == UInt8(ascii: ":")
        else { return nil }
        let authority = url[(slash + 2)...].prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        return Array(url[..<(slash + 2)]) + Array(url[(at + 1)...])
    }

    /// A text without the user information in the URLs that it has.
    private func withoutUsers(_ text: [UInt8]) -> [UInt8] {
        guard takesUsers, text.contains(UInt8(ascii: "@")) else { return text }
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            result.append(text[index])
            index += 1
            guard text[..<index].suffix(2).elementsEqual("//".utf8),
                index == 2 || ":<\"'=(,; ".utf8.contains(text[index - 3])
            else { continue }
            let authority = text[index...].prefix { $0 > 0x20 && !"/?#<>\"".utf8.contains($0) }
            if let at = authority.lastIndex(of: UInt8(ascii: "@")) { index = at + 1 }
        }
        return result
    }

    /// Whether a field has one of the names, or may have a URL with parameters or user information.
    private func mayChange(_ field: RecordedField) -> Bool { Redaction.mayHaveURL(field) || isNamed(field) }

    /// Whether a field may have a URL with parameters or user information.
    private static func mayHaveURL(_ field: RecordedField) -> Bool {
        field.value.contains { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "@") }
    }

    func requestField(_ field: RecordedField) -> RecordedField {
        isNamed(field) ? RecordedField(field.name, Redaction.mark) : withoutParameters(field)
    }

    func responseField(_ field: RecordedField) -> RecordedField {
        guard isNamed(field) else { return withoutParameters(field) }
        let isCookie = field.isNamed("set-cookie")
        return RecordedField(field.name, isCookie ? Redaction.cookie(field.value) : Redaction.mark)
    }

    /// Any field may have a URL: Location, Referer, Link, Refresh, and those that servers make up.
    private func withoutParameters(_ field: RecordedField) -> RecordedField {
        guard Redaction.mayHaveURL(field) else { return field }
        let isURL = field.isNamed("location") || field.isNamed("content-location") || field.isNamed("referer")
        return RecordedField(
            field.name, isURL ? url(field.value) : text(field.value))
    }

    private func isNamed(_ field: RecordedField) -> Bool { fields.contains(field.name) }

    /// A cookie with its name and attributes (RFC 6265 §4.1.1). Some programs write all cookies of a response as one
    /// value, with commas or line ends between: the values of all of them go.
    private static func cookie(_ value: [UInt8]) -> [UInt8] {
        let pair = value.prefix { $0 != UInt8(ascii: ";") }
        let name = pair.firstIndex(of: UInt8(ascii: "=")).map { Array(pair[...$0]) } ?? []
        return name + mark + attributes(value[pair.endIndex...])
    }

    /// The attributes of a cookie, without the value of another cookie that follows one of them.
    private static func attributes(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        for piece in text.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).dropFirst() {
            result.append(UInt8(ascii: ";"))
            let value = otherValue(piece)
            result += value.map { piece[..<$0] + mark } ?? piece
        }
        return result
    }

    /// Where the value of another cookie begins in an attribute: behind a comma or a line end and a name, or behind a
    /// line end alone, as a cookie may have no name. The comma in a date has no name behind it.
    private static func otherValue(_ attribute: ArraySlice<UInt8>) -> Int? {
        for (index, byte) in zip(attribute.indices, attribute) {
            let isLineEnd = byte == 0x0A || byte == 0x0D
            guard byte == UInt8(ascii: ",") || isLineEnd else { continue }
            let rest = attribute[(index + 1)...].drop { $0 <= 0x20 }
            // Behind what is among these blanks there is nothing either.
            guard !rest.isEmpty else { return nil }
            let name = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ",") && $0 != 0x0A && $0 != 0x0D }
            if rest[name.endIndex...].first == UInt8(ascii: "=") { return name.endIndex + 1 }
            if isLineEnd { return rest.startIndex }
        }
        return nil
    }

    // MARK: Bodies

    /// The body of a request. What it is, a form, a multipart form, or JSON, is told by its bytes as well as by its
    /// label: what sends it may have given it another one, or none.
    public func requestBody(_ body: [UInt8], type: [UInt8]) -> [UInt8] { parameters.redactedBody(body, type: type) }

    /// The body of a response, decoded: members that were named beside the standard ones are taken out of JSON.
    ///
    /// - Returns: nil for JSON in UTF-16 or UTF-32, in which nothing is found.
    public func responseBody(_ body: [UInt8], type: [UInt8]) -> [UInt8]? {
        switch ResponseText(body, type: type) {
        case .other: body
        case .json: redacted(body, [ResponseText.value(body)])
        case .events: redacted(body, ResponseText.eventValues(body))
        case .wide: nil
        }
    }

    /// What stands around the JSON, as of a call, stays.
    private func redacted(_ body: [UInt8], _ values: [Range<Int>]) -> [UInt8] {
        var result: [UInt8] = []
        var copied = 0
        for value in values {
            guard let kept = JSONRedaction.redacted(Array(body[value]), ownParameters) else { continue }
            result += body[copied..<value.lowerBound] + kept
            copied = value.upperBound
        }
        return copied == 0 ? body : result + body[copied...]
    }

    /// So many bytes of a body say whether it may be JSON.
    public static let beginning = ResponseText.beginning

    /// Whether ``responseBody(_:type:)`` may change a body that begins so.
    public func mayChange(_ beginning: [UInt8], type: [UInt8]) -> Bool {
        changesResponses && ResponseText.mayBe(beginning[...], type: type) != .other
    }

    /// Whether a response's body is one that ``responseBody(_:type:)`` may change: any but those whose type says that
    /// they are no text, since JSON is told by its first bytes as well as by its label.
    public func mayChange(_ exchange: RecordedExchange) -> Bool {
        guard changesResponses else { return false }
        let type = String(decoding: exchange.value("content-type")?.prefix(16) ?? [], as: UTF8.self).lowercased()
        return !["image/", "audio/", "video/", "font/"].contains { type.hasPrefix($0) } || Redaction.isJSON(exchange)
            || type.hasPrefix("image/svg")
    }

    /// Whether a response is JSON by its type.
    public static func isJSON(_ exchange: RecordedExchange) -> Bool {
        isJSON(type: exchange.value("content-type") ?? [])
    }

    static func isJSON(type: [UInt8]) -> Bool {
        guard let type = type.withUnsafeBytes({ MediaType($0) }) else { return false }
        let essence = String(decoding: type.essence, as: UTF8.self)
        return essence.hasSuffix("/json") || essence.hasSuffix("+json") || essence.hasSuffix("ndjson")
            || essence == "application/json-seq"
    }

    /// Whether a type is that of programs, some of which are JSONP: a call with JSON.
    public static func isProgram(type: [UInt8]) -> Bool { ResponseText.isProgram(type) }

    /// Whether a response's body, decoded, is JSONP.
    public static func isCall(_ body: [UInt8], type: [UInt8]) -> Bool {
        guard ResponseText.isProgram(type), case .json = ResponseText(body, type: type) else { return false }
        return true
    }

    /// Whether a body that begins so may be JSONP.
    public static func mayBeCall(_ beginning: [UInt8], type: [UInt8]) -> Bool {
        guard ResponseText.isProgram(type), case .json = ResponseText.mayBe(beginning[...], type: type) else {
            return false
        }
        return true
    }

    /// How many members of a response's JSON look like credentials: those with a standard name and a text that is none
    /// of ``mark``.
    public static func credentialCount(_ body: [UInt8]) -> Int {
        JSONRedaction.places(body, RedactedNames(Set(standardParameters.map { Array($0.utf8) }))).count { place in
            let value = body[place]
            return value.first == UInt8(ascii: "\"") && value.count > 2
                && !value.dropFirst().dropLast().elementsEqual(mark)
        }
    }
}

/// Names of fields, which are looked up in the case in which they come.
private struct FieldNames: Sendable {
    /// By their lengths, in lower case.
    private var names: [[[UInt8]]] = []

    init(_ names: Set<[UInt8]>) {
        for name in names {
            while self.names.count <= name.count { self.names.append([]) }
            self.names[name.count].append(name)
        }
    }

    func contains(_ name: [UInt8]) -> Bool {
        guard name.count < names.count else { return false }
        return names[name.count].contains { zip($0, name).allSatisfy { $0 == $1.asciiLowercased } }
    }
}
