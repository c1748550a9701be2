public import Archives
public import HTTPSemantics
public import Substitution

/// What archives have for a request that no rule answers: the entry of a client's first request, or what comes nearest.
/// Reads the entries that may answer.
public struct ArchivePreview: Sendable {
    /// An entry that answers.
    public struct Found: Sendable {
        public let archive: MapArchive
        /// Its number from 0.
        public let number: Int
        public let step: ArchiveStep
        /// What is tolerated: `without t; scheme`; empty for the same URL.
        public let tolerance: String
        /// Its place among those that are told apart only by whose turn it is, from 1, and how many they are.
        public let candidate: Int
        public let candidates: Int
        /// The recorded status, as it is sent.
        public let status: Int

        /// `checkout.har#17`.
        public var position: String { archive.position(number) }
        /// `checkout.har#17 without t`.
        public var detail: String { tolerance.isEmpty ? position : "\(position) \(tolerance)" }
    }

    public let found: Found?
    public let miss: ArchiveMiss?
    /// The archive that has the URL, or its host.
    public let archive: MapArchive

    /// Nil where no archive has the URL's host, or a rule answers.
    ///
    /// - Parameter body: the request's; nil for none.
    /// - Throws: ``Archives/ArchiveProblem`` where an entry can't be read.
    public init?(
        _ uri: TargetURI, method: RequestMethod, fields: FieldSection, body: [UInt8]?, map: SubstitutionMap
    ) throws(ArchiveProblem) {
        var from = 0
        var last: MapArchive?
        var hasOtherBody = false
        while true {
            let finding = map.findArchived(
                uri, method: method, hasBody: body != nil, hasRange: fields.contains(.range), from: from)
            guard case .found(let found) = finding else {
                var missed = last
                if missed == nil, case .missed(let archive) = finding { missed = archive }
                guard let missed else { return nil }
                self.found = nil
                miss = map.archiveMiss(uri, method: method, of: missed, hasCandidates: hasOtherBody)
                archive = missed
                return
            }
            let candidates = found.withoutRedirects(to: uri)
            guard !candidates.entries.isEmpty else {
                from = candidates.place + 1
                continue
            }
            let details = try candidates.archive.loadDetails(candidates.entries)
            let chosen = candidates.chosen(
                for: ArchiveRequest(fields, isHead: method.known == .head, body: body), details)
            guard !chosen.isEmpty else {
                last = last ?? candidates.archive
                if !candidates.areParts { hasOtherBody = true }
                from = candidates.place + 1
                continue
            }
            let number =
                candidates.archive.settings.isSequence
                ? candidates.inState(chosen, lastChange: nil).first ?? 0 : candidates.steady(chosen, details)
            let exchange = try candidates.archive.archive.exchange(number)
            archive = candidates.archive
            miss = nil
            self.found = Found(
                archive: candidates.archive, number: number, step: candidates.step,
                tolerance: uri.withBytes { candidates.tolerance(number, url: $0, pathEnd: uri.pathEnd) },
                candidate: (chosen.firstIndex(of: number) ?? 0) + 1, candidates: chosen.count,
                status: exchange.status == 206 && !OutgoingFields.isPart(exchange) ? 200 : exchange.status)
            return
        }
    }
}
