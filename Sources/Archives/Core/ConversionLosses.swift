import HTTPSemantics

/// Counts what a format can't hold of the exchanges that are converted to it: the one place that says what each loses.
public struct ConversionLosses: Sendable {
    /// What gets lost, in the order in which it is told.
    public enum Kind: Int, Sendable, CaseIterable {
        case method, unusable, unredactable, redirect, repeated, status, fields, requestBody, coding, time
    }

    private let format: ArchiveFormat
    private var counts = [Int](repeating: 0, count: Kind.allCases.count)
    private var urls: Set<[UInt8]> = []

    /// - Parameter format: the one that is written.
    public init(to format: ArchiveFormat) { self.format = format }

    /// Counts what is lost of an exchange.
    ///
    /// - Parameters:
    ///   - url: in the map's normal form.
    ///   - isUsable: whether the entry can answer.
    ///   - isCut: whether the response failed or ended too soon, which only some formats can say.
    ///   - isRepeated: whether it never answers, since an earlier entry has its URL.
    ///   - lacksRequestBody: whether the request has had a body that is not there. The default of all three is false.
    /// - Returns: Whether it is written at all.
    public mutating func keeps(
        _ exchange: RecordedExchange, url: some Sequence<UInt8>, isUsable: Bool, isCut: Bool = false,
        isRepeated: Bool = false, lacksRequestBody: Bool = false
    ) -> Bool {
        guard !isRepeated else {
            // Elsewhere it would be the next one in turn.
            count(.repeated)
            return false
        }
        switch format {
        case .mhtml, .webarchive: break
        case .har, .recording:
            // A recording has a method and a status that its reader takes.
            guard format == .har || (exchange.hasMethod && (0...999).contains(exchange.status) && !isCut) else {
                count(.unusable)
                return false
            }
            if !OutgoingFields.removableCodings(exchange).isEmpty { count(.coding) }
            if format == .recording, exchange.time != nil { count(.time) }
            if lacksRequestBody { count(.requestBody) }
            return true
        case .warc, .wacz:
            // A record is a message.
            let isMessage = !exchange.url.isEmpty && exchange.hasMethod && (100...999).contains(exchange.status)
            let hasBody = !exchange.body.isMissing || exchange.method == "HEAD" || exchange.status == 304
            // Of a response without content nothing can be truncated.
            let isKept = isMessage && hasBody && !(isCut && WARCIndex.needsNoBody(exchange.status))
            if !isKept { count(.unusable) } else if lacksRequestBody { count(.requestBody) }
            return isKept
        }
        if let kind = dropped(exchange, isUsable) {
            count(kind)
            return false
        }
        guard urls.insert(Array(url)).inserted else {
            count(.repeated)
            return false
        }
        if exchange.status != 200 { count(.status) }
        if exchange.fields.contains(where: { !$0.isNamed("Content-Type") })
            || format == .mhtml && MHTMLWriter.isMultipart(exchange)
        {
            count(.fields)
        }
        if exchange.requestBody != nil || lacksRequestBody { count(.requestBody) }
        return true
    }

    /// Why a saved page doesn't have an exchange, whatever else it has.
    private func dropped(_ exchange: RecordedExchange, _ isUsable: Bool) -> Kind? {
        if exchange.method != "GET" { return .method }
        if !isUsable { return .unusable }
        return (300..<400).contains(exchange.status) && exchange.value("Location") != nil ? .redirect : nil
    }

    /// Counts an entry out of which nothing can be taken, so that it isn't written.
    mutating func countUnredactable() { count(.unredactable) }

    private mutating func count(_ kind: Kind) { counts[kind.rawValue] += 1 }

    /// How often something got lost.
    public subscript(kind: Kind) -> Int { counts[kind.rawValue] }

    /// A line a kind, such as `lost: 3 entries that are not GET`.
    public var lines: [String] {
        Kind.allCases.compactMap { kind in
            let count = self[kind]
            return count == 0 ? nil : "lost: \(ConversionLosses.words(kind, count))"
        }
    }

    private static func words(_ kind: Kind, _ count: Int) -> String {
        let isOne = count == 1
        let entries = isOne ? "1 entry" : "\(count) entries"
        return switch kind {
        case .method: "\(entries) that \(isOne ? "is" : "are") not GET"
        case .unusable: "\(entries) that can't answer"
        case .unredactable: "\(entries) out of which nothing can be taken"
        case .redirect: "\(entries) that \(isOne ? "redirects" : "redirect")"
        case .repeated: "\(entries) whose URL an earlier one has"
        case .status: "the \(isOne ? "status" : "statuses") of \(entries)"
        case .fields: "the fields of \(entries)"
        case .requestBody: "the request \(isOne ? "body" : "bodies") of \(entries)"
        case .coding: "the coded bytes of \(entries)"
        case .time: "the \(isOne ? "time" : "times") of \(entries)"
        }
    }
}

extension RecordedExchange {
    /// Whether its method is one: some writers have none, or another text there.
    fileprivate var hasMethod: Bool { !method.isEmpty && method.utf8.allSatisfy { $0.isMember(of: .token) } }
}
