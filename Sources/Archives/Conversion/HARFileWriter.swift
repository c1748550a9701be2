/// Writes a HAR.
final class HARFileWriter: ArchiveWriter {
    private let sink: FileSink
    private let plan: ConversionPlan
    private var count = 0
    /// The page that entries belong to that don't say, as a number from 1; 0 for none.
    private var page = 0
    private var hasBegun = false
    /// Of pages that were not opened yet, and of which no archive says what belongs to them, their places in the plan.
    private var openers: [[UInt8]: Int]

    init(_ path: String, _ plan: ConversionPlan) throws(ConversionFailure) {
        sink = try FileSink(path, isPrivate: plan.isPrivate)
        self.plan = plan
        openers = plan.openers
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
        let number = page(of: entry)
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
            try write(exchange, probe, body, page: number, error: entry.cut?.words)
        } catch {
            throw .reading(error)
        }
        try sink.flush()
        return problem
    }

    /// The page that an entry belongs to, from 1; 0 for none. A HAR says which; of other archives an entry belongs to
    /// the last page that was opened before it.
    private func page(of entry: ConvertedEntry) -> Int {
        if entry.archive.format == .har { return entry.page.map { $0 + 1 } ?? 0 }
        let (recorded, normal) = (entry.exchange.url, entry.url)
        if let opened = entry.page ?? openers.removeValue(forKey: recorded) ?? openers.removeValue(forKey: normal) {
            page = opened + 1
        }
        return page
    }

    private func write(
        _ exchange: RecordedExchange, _ probe: HARBodyProbe, _ body: any BodyStream, page: Int, error: String?
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
