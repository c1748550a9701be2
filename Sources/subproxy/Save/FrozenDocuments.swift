import Archives
import Browser
import ForwardProxy
import HTTPSemantics
import NIOCore
import Recorder

/// The documents of a frozen page as they are written: with the fields of the responses that they were made from.
struct FrozenDocuments {
    private let page: FrozenPage
    private let url: [UInt8]
    private let recorded: Archive

    /// - Parameters:
    ///   - url: the one that the page's document was asked for at; scripts may have given it another one since.
    ///   - recorded: the responses.
    init(_ page: FrozenPage, _ url: String, _ recorded: Archive) {
        self.page = page
        self.url = Array(url.utf8)
        self.recorded = recorded
    }

    /// Fields that don't hold for the frozen document: of its bytes, and those that its markup is freed of as well.
    private static let dropped: Set<[UInt8]> = Set(
        [
            "content-security-policy", "content-security-policy-report-only", "integrity-policy", "content-encoding",
            "content-length", "content-md5", "content-digest", "digest", "repr-digest", "etag", "accept-ranges",
            "content-range", "link", "refresh", "content-type", "transfer-encoding", "content-disposition",
            "service-worker-allowed",
        ].map { Array($0.utf8) })

    /// Writes them as a WARC, the page's first.
    ///
    /// - Throws: `RecorderFailure`.
    func write(to path: String) throws {
        var options = RecorderOptions(.warc(path, isCompressed: false))
        options.redaction = nil
        options.version = programVersion
        let recorder = try Recorder(options)
        for (index, document) in page.documents.enumerated() {
            let exchange = exchange(document, isPage: index == 0)
            // There are a thousand frames at most, which is fewer than may wait.
            _ = recorder.record(PackedExchange(exchange), body: .memory([ByteBuffer(bytes: document.markup)])) {}
        }
        if let failure = recorder.finish().failure { throw failure }
    }

    private func exchange(_ document: FrozenPage.Document, isPage: Bool) -> RecordedExchange {
        var exchange =
            original(Array(document.url.utf8), document) ?? (isPage ? original(url, document) : nil)
            ?? RecordedExchange()
        exchange.method = "GET"
        exchange.url = Array(document.url.utf8)
        exchange.requestBody = nil
        if exchange.status < 200 || (300..<400).contains(exchange.status) || exchange.status == 206 {
            exchange.status = 200
            exchange.reason = Array("OK".utf8)
        }
        exchange.fields.removeAll { field in
            FrozenDocuments.dropped.contains(field.name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 })
        }
        exchange.fields.append(RecordedField("Content-Type", document.mediaType + "; charset=utf-8"))
        exchange.fields.append(RecordedField("Content-Length", "\(document.markup.count)"))
        exchange.body = RecordedBody()
        exchange.body.storedBytes = document.markup.count
        exchange.body.size = document.markup.count
        return exchange
    }

    /// Whether the page's document is XML other than XHTML, as SVG is, and came without anything that could run: in no
    /// response at its URL, since all of them are written.
    var cameQuiet: Bool {
        guard let document = page.documents.first, document.mediaType != "text/html",
            document.mediaType != "application/xhtml+xml"
        else { return false }
        let own = indices(Array(document.url.utf8))
        let all = own.isEmpty ? indices(url) : own
        return !all.isEmpty && all.allSatisfy { isQuiet($0, document.mediaType) }
    }

    private func isQuiet(_ index: Int, _ type: String) -> Bool {
        guard let exchange = try? recorded.exchange(index), exchange.value("refresh") == nil,
            isOfType(index, type), let source = try? source(index)
        else { return false }
        return QuietMarkup.isQuiet(source)
    }

    private func source(_ index: Int) throws -> [UInt8] {
        let body = try recorded.exchange(index).body
        var stream = try ContentDecoder.stream(
            recorded.openStoredBody(index), codings: body.codings, storedBytes: body.storedBytes,
            limits: recorded.limits)
        return try stream.readAll(limit: recorded.limits.body)
    }

    /// The response that was recorded of a GET of a URL: of a page that was loaded again, or that has asked for its URL
    /// itself, the last one with the status and the type of the document.
    private func original(_ url: [UInt8], _ document: FrozenPage.Document) -> RecordedExchange? {
        let found = indices(url).filter { !(300..<400).contains(recorded.table[$0].status) }
        let same = found.filter { recorded.table[$0].status == document.status }
        let index = same.last { isOfType($0, document.mediaType) } ?? same.last ?? found.first
        return index.flatMap { try? recorded.exchange($0) }
    }

    private func isOfType(_ index: Int, _ type: String) -> Bool {
        guard let exchange = try? recorded.exchange(index) else { return false }
        return exchange.value("content-type")?.map(\.asciiLowercased).starts(with: type.utf8) == true
    }

    /// The responses that were recorded of a GET of a URL.
    private func indices(_ url: [UInt8]) -> [Int] {
        guard let url = SavedURL.normalForm(url) else { return [] }
        let table = recorded.table
        return (0..<table.count).filter { index in
            let entry = table[index]
            return entry.isUsable && entry.method == "GET" && entry.url.elementsEqual(url)
        }
    }
}

/// Redirects that are written with the response that they lead to.
struct FollowedRedirects {
    private let redirects: [SavedEntries.Followed]
    private let recorded: Archive

    init(_ redirects: [SavedEntries.Followed], _ recorded: Archive) {
        self.redirects = redirects
        self.recorded = recorded
    }

    /// Writes them as a WARC.
    ///
    /// - Throws: `RecorderFailure`, and `ArchiveProblem` where a response can't be read.
    func write(to path: String) throws {
        var options = RecorderOptions(.warc(path, isCompressed: false))
        options.redaction = nil
        options.version = programVersion
        let recorder = try Recorder(options)
        defer { _ = recorder.finish() }
        for redirect in redirects {
            var exchange = try recorded.exchange(redirect.index)
            let body: [UInt8]
            if exchange.value("content-type")?.starts(with: "text/css".utf8) == true {
                // URLs in a style sheet are relative to where it is in the end.
                body = Array("@import url(\"".utf8) + exchange.url + Array("\");\n".utf8)
                exchange.removeCodings()
                exchange.body = RecordedBody()
            } else {
                var stream = try recorded.openBody(redirect.index)
                body = try stream.readAll(limit: recorded.limits.body)
            }
            exchange.url = redirect.url
            exchange.body.storedBytes = body.count
            _ = recorder.record(PackedExchange(exchange), body: .memory([ByteBuffer(bytes: body)])) {}
            recorder.flush()
        }
        if let failure = recorder.finish().failure { throw failure }
    }
}

/// URLs as entries of archives have them.
enum SavedURL {
    /// The normal form, without a fragment; nil for what no entry has.
    static func normalForm(_ url: [UInt8]) -> [UInt8]? {
        let url = url.prefix { $0 != UInt8(ascii: "#") }
        guard let uri = try? TargetURI(absolute: ByteBuffer(bytes: url)), uri.scheme != .other else { return nil }
        return uri.withBytes { Array($0) }
    }

    /// The same as text; what has none stays as it is.
    static func text(_ url: String) -> String {
        normalForm(Array(url.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? url
    }
}
