import Archives
public import HTTPSemantics

/// What tells entries of one URL apart: the recorded request's fields and body, and what the response says of both.
public struct EntryDetails: Sendable {
    public let number: Int
    /// Names in lower case; those that say nothing of what is asked for are there only if Vary names them.
    let fields: [(name: [UInt8], value: [UInt8])]
    /// The names in Vary, in lower case.
    let vary: [[UInt8]]
    /// The value of Range, where the response is a part; without a recorded request that of the part itself.
    let range: [UInt8]?
    let body: ComparedBody?
    let isSuccess: Bool
    let hasContent: Bool

    init(_ number: Int, _ exchange: RecordedExchange, isPartial: Bool) {
        self.number = number
        var named: [[UInt8]] = []
        for name in EntryDetails.variedNames(exchange) where named.count < 64 && !named.contains(name) {
            named.append(name)
        }
        vary = named
        var fields: [(name: [UInt8], value: [UInt8])] = []
        var type: [UInt8] = []
        var range: [UInt8]?
        for field in exchange.requestFields.prefix(EntryDetails.mostFields) {
            let name = field.name.map(\.asciiLowercased)
            if name.elementsEqual("range".utf8) { range = field.value }
            if name.elementsEqual("content-type".utf8) { type = field.value }
            if !EntryDetails.saysNothing(name) || named.contains(name) { fields.append((name, field.value)) }
        }
        // Some writers leave out the field that tells how a body is to be compared.
        if type.isEmpty { type = exchange.requestType }
        self.fields = fields
        if exchange.requestFields.isEmpty, let numbers = OutgoingFields.contentRange(exchange), numbers.count > 1 {
            range = Array("bytes=\(numbers[0])-\(numbers[1])".utf8)
        }
        self.range = isPartial ? range : nil
        // A larger body is not compared, and equals any.
        let isCompared = (exchange.requestBody?.count ?? 0) <= EntryDetails.comparedBytes
        body = exchange.requestBody.map { ComparedBody(isCompared ? $0 : [], type: type, isTooLarge: !isCompared) }
        isSuccess = (200..<300).contains(exchange.status)
        hasContent = !exchange.body.isMissing && (exchange.body.size ?? 1) > 0
    }

    /// Bytes of a request's body that is compared; a larger one equals any, recorded or not.
    public static let comparedBytes = 1 << 20
    /// Fields of a recorded request that are compared.
    private static let mostFields = 1000

    private static func variedNames(_ exchange: RecordedExchange) -> [[UInt8]] {
        exchange.fields.filter { $0.isNamed("vary") }.flatMap { field in
            field.value.split(separator: UInt8(ascii: ",")).map { name in
                name.filter { $0 != 0x20 && $0 != 0x09 }.map(\.asciiLowercased)
            }
        }.filter { !EntryDetails.isUnvaried($0) }
    }

    /// Roughly the bytes that it takes.
    var cost: Int {
        fields.reduce(256) { $0 + $1.name.count + $1.value.count + 64 } + (body?.cost ?? 0)
    }

    /// Fields of a request that differ from one to the next without another answer being meant: of conditions, caching
    /// and connections, and those that tell who asks.
    static func saysNothing(_ name: [UInt8]) -> Bool { silent.contains(name) }

    /// The fields of Vary of which the request has not what was recorded.
    func differingFields(of request: ArchiveRequest) -> Int {
        vary.count { name in
            let recorded = fields.filter { $0.name == name }
            let asked = request.fields.filter { $0.name == name }
            return recorded.count != asked.count
                || !zip(recorded, asked).allSatisfy { EntryDetails.equals($0.value, $1.value) }
        }
    }

    /// The fields that say what is asked for, and that the request has as they were recorded.
    func equalFields(of request: ArchiveRequest) -> Int {
        fields.count { field in
            !EntryDetails.saysNothing(field.name)
                && request.fields.contains { $0.name == field.name && EntryDetails.equals(field.value, $0.value) }
        }
    }

    /// What a recorder has taken out equals any value.
    private static func equals(_ recorded: [UInt8], _ asked: [UInt8]) -> Bool {
        recorded == asked || recorded == ParameterRules.redactedValue
    }

    static func isUnvaried(_ name: [UInt8]) -> Bool {
        ["accept-encoding", "cookie", "user-agent"].contains { $0.utf8.elementsEqual(name) }
    }

    private static let silent: Set<[UInt8]> = Set(
        [
            "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "cache-control",
            "pragma",
            "connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer", "transfer-encoding",
            "upgrade", "content-length", "cookie", "authorization", "accept-encoding", "user-agent", "host", "via",
            "expect",
        ].map { Array($0.utf8) })
}

/// A request as far as entries of one URL are told apart by it.
public struct ArchiveRequest: Sendable {
    /// Names in lower case.
    let fields: [(name: [UInt8], value: [UInt8])]
    let range: [UInt8]?
    let isHead: Bool
    let body: ComparedBody?
    /// Whether it had a body that is too large to be compared, and so equals any.
    let equalsAny: Bool

    /// - Parameters:
    ///   - body: nil where there is none.
    ///   - isTooLarge: whether there is one of more than a MiB.
    public init(_ fields: FieldSection, isHead: Bool, body: [UInt8]?, isTooLarge: Bool = false) {
        var kept: [(name: [UInt8], value: [UInt8])] = []
        var type: [UInt8] = []
        var range: [UInt8]?
        for line in fields.lines {
            let name = fields.withName(line) { $0.map(\.asciiLowercased) }
            let value = fields.withValue(line) { Array($0) }
            if name.elementsEqual("range".utf8) { range = value }
            if name.elementsEqual("content-type".utf8) { type = value }
            if !EntryDetails.isUnvaried(name) { kept.append((name, value)) }
        }
        self.fields = kept
        self.range = range
        self.isHead = isHead
        self.body = body.map { ComparedBody($0, type: type) }
        equalsAny = isTooLarge
    }
}
