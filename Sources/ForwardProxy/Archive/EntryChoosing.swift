import Archives
import HTTPSemantics
import Substitution

/// Chooses the entries that a request may get, among those of its URL: reads what tells them apart, and compares
/// bodies.
struct EntryChoosing: Sendable {
    struct Choice: Sendable {
        /// Those that are none are not among them any more.
        var candidates: ArchiveCandidates
        /// Those that are told apart only by whose turn it is; empty for none.
        var chosen: [Int]
        /// The one that always answers where there is no sequence.
        var steady = 0
    }

    let candidates: ArchiveCandidates
    let uri: TargetURI
    let fields: FieldSection
    let isHead: Bool
    /// Nil where there is none, or a too large one.
    let body: [UInt8]?
    let isTooLarge: Bool

    /// The choice where it takes neither I/O, nor the comparison of bodies or of many entries; else nil. For event
    /// loops.
    func madeAtOnce() -> Choice? {
        guard body?.isEmpty ?? true, !candidates.mayRedirect, candidates.entries.count <= EntryChoosing.few,
            let details = candidates.archive.keptDetails(candidates.entries)
        else { return nil }
        return choice(candidates, details)
    }

    private static let few = 64

    /// The choice. Does I/O.
    func made() throws(EntryFailure) -> Choice {
        let candidates = candidates.withoutRedirects(to: uri)
        do throws(ArchiveProblem) {
            return choice(candidates, try candidates.archive.loadDetails(candidates.entries))
        } catch {
            guard candidates.archive.isIntact else { throw .changed }
            throw EntryFailure(error)
        }
    }

    private func choice(_ candidates: ArchiveCandidates, _ details: [EntryDetails]) -> Choice {
        guard !candidates.entries.isEmpty else { return Choice(candidates: candidates, chosen: []) }
        let request = ArchiveRequest(fields, isHead: isHead, body: body, isTooLarge: isTooLarge)
        let chosen = candidates.chosen(for: request, details)
        let isSequence = candidates.archive.settings.isSequence
        let steady = isSequence ? 0 : candidates.steady(chosen, details)
        return Choice(candidates: candidates, chosen: chosen, steady: steady)
    }
}
