/// Writes a recording.
final class RecordingFolderWriter: ArchiveWriter {
    private var writer: RecordingWriter

    init(_ path: String, _ plan: ConversionPlan) throws(ConversionFailure) {
        var options = RecordingOptions()
        options.isPrivate = plan.isPrivate
        do throws(RecordingFailure) {
            writer = try RecordingWriter(folder: path, options: options)
        } catch {
            throw .writing(error.message)
        }
    }

    func append(_ entry: ConvertedEntry) throws(ConversionFailure) -> ArchiveProblem? {
        do throws(RecordingFailure) {
            try writer.append(entry.exchange) { () throws(ArchiveProblem) in try entry.openBody() }
            return nil
        } catch {
            if case .archive(let problem) = error { throw .reading(problem) }
            throw .writing(error.message)
        }
    }

    func finish() throws(ConversionFailure) {}
}
