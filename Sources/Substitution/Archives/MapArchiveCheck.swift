import Archives
import Diagnostics

extension SubstitutionMap {
    /// Reads every archive whole: decodes all bodies, and verifies digests. Blocks.
    ///
    /// - Parameter limit: How many messages are made at most for each archive. The default is 1000.
    public func checkArchives(limit: Int = 1000) -> [MapDiagnostic] {
        archives.flatMap { archive in
            var problems: [ArchiveProblem] = []
            func add(_ problem: ArchiveProblem) {
                if problems.count < limit { problems.append(problem) }
            }
            if archive.countsNothing {
                add(ArchiveProblem(.warning, "no entry is under a URL of 'urls', so it answers nothing"))
            }
            for url in archive.idleMoves {
                add(
                    ArchiveProblem(
                        .warning, "no entry is below '\(visibleText(of: url, limit: 300))' of 'as', so it moves nothing"
                    ))
            }
            do throws(ArchiveProblem) {
                try archive.archive.check { add($0) }
            } catch {
                add(error)
            }
            return ArchiveMessages.grouped(problems, file: archive.archive.name)
        }
    }
}
