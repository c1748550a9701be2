import Archives
public import HTTPSemantics

/// What the archives of a map say of a request that no rule answers.
public enum ArchiveFinding: Sendable {
    /// No archive has the URL's host, or those that `urls` names.
    case unknown
    /// These entries may answer.
    case found(ArchiveCandidates)
    /// An archive has the host and no entry.
    case missed(MapArchive)
}

extension SubstitutionMap {
    /// The archives in the order in which their files were named.
    public var archives: [MapArchive] { storage.archives }

    /// Whether there are archives at all.
    public var hasArchives: Bool { !storage.archives.isEmpty }

    /// How many entries the archives have, and how many of them can answer.
    public var entryCounts: (all: Int, usable: Int) {
        storage.archives.reduce((0, 0)) { ($0.0 + $1.entryCounts.all, $0.1 + $1.entryCounts.usable) }
    }

    /// Finds the entries that may answer a request that no rule answers.
    ///
    /// - Parameter from: the archive to begin with, by its place among ``archives``: the one behind that whose
    ///   candidates had no equal body.
    public func findArchived(
        _ uri: TargetURI, method: RequestMethod, hasBody: Bool, hasRange: Bool, from first: Int = 0
    ) -> ArchiveFinding {
        guard uri.scheme != .other else { return .unknown }
        let uri = uri.asArchived
        return uri.withBytes { url in
            for (place, archive) in storage.archives.enumerated().dropFirst(first) {
                if var part = part(of: archive, uri, url, method) {
                    part.place = place
                    return .found(part)
                }
                let finder = ArchiveFinder(
                    archive: archive, url: url, pathEnd: uri.pathEnd, method: method.known, methodText: method.bytes,
                    hasBody: hasBody, hasRange: hasRange)
                guard var candidates = finder.find() else { continue }
                candidates.place = place
                candidates.noteRedirects()
                return .found(candidates)
            }
            let host = uri.host
            for archive in storage.archives
            where archive.isOwn(url, pathEnd: uri.pathEnd, host: host, port: uri.port) {
                return .missed(archive)
            }
            return .unknown
        }
    }

    /// The part of a saved page that a URL names by its identifier, on any of the page's hosts.
    private func part(
        of archive: MapArchive, _ uri: TargetURI, _ url: UnsafeRawBufferPointer, _ method: RequestMethod
    ) -> ArchiveCandidates? {
        guard !archive.table.contentIDs.isEmpty, method.known == .get || method.known == .head,
            let number = archive.table.contentIDs.entry(url: url),
            archive.isOwn(url, pathEnd: uri.pathEnd, host: uri.host, port: uri.port)
        else { return nil }
        return ArchiveCandidates(archive: archive, step: ArchiveStep(1), entries: [number], isCertain: true)
    }

    /// Why no archive answers a request, and what comes nearest.
    ///
    /// - Parameters:
    ///   - hasCandidates: whether there were entries whose body was another; parts of responses are none.
    ///   - isTold: whether anybody reads what comes nearest, which takes time.
    public func archiveMiss(
        _ uri: TargetURI, method: RequestMethod, of archive: MapArchive, hasCandidates: Bool = false,
        isTold: Bool = true
    ) -> ArchiveMiss {
        archive.miss(uri.asArchived, method: method, hasCandidates: hasCandidates, isTold: isTold)
    }

    /// The number of an entry among those of all archives of the map.
    public func entryNumber(_ candidates: ArchiveCandidates, _ number: Int) -> Int {
        storage.archiveStarts[candidates.place] + number
    }

    /// Whether an archive answers the URL by this method: for a preflight.
    public func archivePreflight(_ uri: TargetURI, method: RequestMethod) -> MapArchive? {
        // A preflight does not tell whether its request will have a body.
        for hasBody in [true, false] {
            let finding = findArchived(uri, method: method, hasBody: hasBody, hasRange: false)
            if case .found(let candidates) = finding { return candidates.archive }
        }
        return nil
    }
}

extension ArchiveCandidates {
    /// Those of the other scheme have to be looked at where they are redirects: to the URL asked for they would
    /// redirect for ever.
    fileprivate mutating func noteRedirects() {
        guard step.isOtherScheme, entries.contains(where: isRedirect) else { return }
        mayRedirect = true
        isCertain = false
    }

    private func isRedirect(_ number: Int) -> Bool { (300..<400).contains(archive.table[number].status) }

    /// Without the entries that redirect to the URL itself; none may be left. Does I/O where ``mayRedirect``.
    public func withoutRedirects(to uri: TargetURI) -> ArchiveCandidates {
        guard mayRedirect else { return self }
        var left = self
        left.mayRedirect = false
        uri.withBytes { url in
            left.entries.removeAll { isRedirect($0) && archive.redirects($0, to: url) }
        }
        return left
    }
}

extension MapArchive {
    /// Whether an entry is a redirect to a URL. Reads the entry: for the rare redirects of another scheme.
    fileprivate func redirects(_ number: Int, to url: UnsafeRawBufferPointer) -> Bool {
        guard let exchange = try? archive.exchange(number), let location = exchange.value("location"),
            let target = try? TargetURI(String(decoding: location, as: UTF8.self))
        else { return false }
        return target.withBytes { URLText.equal($0, url) }
    }
}
