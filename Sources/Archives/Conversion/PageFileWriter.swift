import Basics

/// Writes a saved page: MHTML or a webarchive.
final class PageFileWriter<Writer: SavedPageWriter>: ArchiveWriter {
    private let sink: FileSink
    private var writer: Writer
    private var hasBegun = false

    init(_ path: String, _ plan: ConversionPlan, _ writer: Writer) throws(ConversionFailure) {
        sink = try FileSink(path, isPrivate: plan.isPrivate)
        self.writer = writer
    }

    func append(_ entry: ConvertedEntry) throws(ConversionFailure) -> ArchiveProblem? {
        var size = 0
        do throws(ArchiveProblem) {
            try entry.forEachPiece { size += $0.count }
        } catch {
            return error
        }
        begin()
        sink.write(writer.add(entry.exchange, size: size))
        var written = 0
        do throws(ArchiveProblem) {
            try entry.forEachPiece { piece in
                written += piece.count
                sink.write(piece)
            }
            guard written == size else { throw ArchiveProblem(.error, "the body changed while it was written") }
        } catch {
            throw .reading(error)
        }
        sink.write(writer.endBody())
        try sink.flush()
        return nil
    }

    private func begin() {
        guard !hasBegun else { return }
        hasBegun = true
        sink.write(writer.begin())
    }

    func finish() throws(ConversionFailure) {
        begin()
        sink.write(writer.finish())
        try sink.finish()
    }
}

extension PageFileWriter where Writer == MHTMLWriter {
    /// A writer for the plan's first page.
    static func mhtml(_ plan: ConversionPlan) -> MHTMLWriter {
        var randomness = SystemRandomNumberGenerator()
        let boundary = (0..<2).map { _ in Hexadecimal.text(randomness.next() as UInt64, width: 16) }.joined()
        return MHTMLWriter(
            document: plan.pages.first?.url ?? [], title: plan.pages.first?.title, boundary: boundary)
    }
}
