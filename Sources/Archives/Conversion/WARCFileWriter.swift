/// Writes a WARC.
final class WARCFileWriter: ArchiveWriter {
    private let sink: FileSink
    private let plan: ConversionPlan
    private var writer: WARCWriter<SystemRandomNumberGenerator>

    init(_ path: String, _ plan: ConversionPlan, isCompressed: Bool) throws(ConversionFailure) {
        do throws(ArchiveProblem) {
            writer = try WARCWriter(isCompressed: isCompressed, randomness: SystemRandomNumberGenerator())
        } catch {
            throw .writing(error.message)
        }
        sink = try FileSink(path, isPrivate: plan.isPrivate)
        self.plan = plan
        sink.write(writer.information(software: "\(plan.program)/\(plan.version)", time: plan.time))
    }

    func append(_ entry: ConvertedEntry) throws(ConversionFailure) -> ArchiveProblem? {
        do throws(ArchiveProblem) {
            try writer.append(
                entry.exchange, time: plan.time, isTruncated: entry.cut != nil,
                body: { () throws(ArchiveProblem) in try entry.openBody() },
                to: { [sink] bytes throws(ArchiveProblem) in sink.write(copy bytes) })
        } catch {
            throw .reading(error)
        }
        try sink.flush()
        return nil
    }

    func finish() throws(ConversionFailure) { try sink.finish() }
}
