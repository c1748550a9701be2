/// Writes a HAR.
final class HARFileWriter: ArchiveWriter {
    private let sink: FileSink
    private let plan: ConversionPlan
    private var count = 0
    /// The page that entries belong to, as a number from 1; 0 for none.
    private var page = 0
    private var hasBegun = false
    /// The number of the first page of each URL, from 1.
    private let pages: [[UInt8]: Int]

    init(_ path: String, _ plan: ConversionPlan) throws(ConversionFailure) {
        sink = try FileSink(path, isPrivate: plan.isPrivate)
        self.plan = plan
        pages = Dictionary(plan.pages.enumerated().map { ($1.url, $0 + 1) }) { first, _ in first }
    }

    private func begin(_ time: Int64?) {
        guard !hasBegun else { return }
        hasBegun = true
        sink.write(
            HARWriter.beginning(
                name: plan.program, version: plan.version, pages: plan.pages, time: time ?? plan.time))
    }

    func append(_ entry: ConvertedEntry) throws(ConversionFailure) -> ArchiveProblem? {
        begin(entry.exchange.time)
        let found = [entry.exchange.url, entry.url].compactMap { pages[$0] }.min()
        if let found { page = max(page, found) }
        var exchange = entry.exchange
        var probe = HARBodyProbe()
        var problem: ArchiveProblem?
        do throws(ArchiveProblem) {
            do throws(ArchiveProblem) {
                try entry.forEachPiece { probe.add($0) }
                if !OutgoingFields.removableCodings(exchange).isEmpty { exchange.removeCodings() }
            } catch {
                // As it came, with its coding.
                problem = error
                probe = HARBodyProbe()
                try entry.openBody().forEachPiece { probe.add($0) }
            }
            let body = problem == nil ? try entry.openDecodedBody() : try entry.openBody()
            try write(exchange, probe, body, error: entry.cut?.words)
        } catch {
            throw .reading(error)
        }
        try sink.flush()
        return problem
    }

    private func write(
        _ exchange: RecordedExchange, _ probe: HARBodyProbe, _ body: any BodyStream, error: String?
    ) throws(ArchiveProblem) {
        if count > 0 { sink.write(HARWriter.separator) }
        count += 1
        var details = HARDetails()
        if page > 0 { details.page = "page_\(page)" }
        details.error = error
        var writer = HAREntryWriter(exchange, probe, details: details)
        sink.write(writer.begin())
        var bytes: [UInt8] = []
        try body.forEachPiece { piece in
            bytes.removeAll(keepingCapacity: true)
            writer.append(piece, to: &bytes)
            sink.write(bytes)
        }
        bytes.removeAll(keepingCapacity: true)
        writer.finish(into: &bytes)
        sink.write(bytes)
    }

    func finish() throws(ConversionFailure) {
        begin(nil)
        sink.write(HARWriter.end)
        try sink.finish()
    }
}
