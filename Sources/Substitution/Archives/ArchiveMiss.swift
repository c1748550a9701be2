import Archives
public import HTTPSemantics

/// A request for a URL of an archive's that has no entry.
public struct ArchiveMiss: Sendable, Hashable {
    /// Why; the first that holds.
    public enum Reason: String, Sendable, Hashable {
        /// URL and method are there, the body is not.
        case body
        /// The entry has no body, has failed, or is a part.
        case notRecorded = "not recorded"
        case method, query
        /// The host is there.
        case path
        case host
    }

    /// An entry that is like what was asked for.
    public struct Nearest: Sendable, Hashable {
        /// `checkout.har#12`.
        public let position: String
        /// The URL that it is answered at.
        public let url: String
        /// The names of parameters, or `path`, `scheme`, `method`, `body`.
        public let differs: [String]
    }

    public let reason: Reason
    /// Where what was asked for is not recorded: the first entry that has the URL and why it can't answer, as in
    /// `checkout.har#1: the body was not recorded`.
    public let unusable: String?
    /// What can be done about it.
    public var advice: String
    /// At most three.
    public let nearest: [Nearest]
    /// What the archive says of it.
    public let missing: ArchiveMissing
    /// The archive's name.
    public let archive: String
}

extension MapArchive {
    /// Why a request finds no entry here, and what comes nearest. Takes some milliseconds at most, since other requests
    /// wait meanwhile: of large archives a part is looked at.
    ///
    /// - Parameter isTold: whether anybody reads what comes nearest.
    func miss(_ uri: TargetURI, method: RequestMethod, hasCandidates: Bool, isTold: Bool) -> ArchiveMiss {
        uri.withBytes { url in
            let look = MissLook(self, url, pathEnd: uri.pathEnd, method)
            var reason = hasCandidates ? .body : look.reason()
            var advice = reason.advice(isNearest: mode == .nearest, isForwarded: missing == .forward)
            if reason == .body, method.known == .options, options.cors == .auto {
                // The method is recorded, but as if it were not.
                reason = .method
                advice = "Recorded OPTIONS answer only with 'cors: off': give the archive that, or map the URL."
            }
            return ArchiveMiss(
                reason: reason, unusable: reason == .notRecorded ? look.unusable() : nil, advice: advice,
                nearest: isTold ? look.nearest() : [], missing: missing, archive: shortName)
        }
    }

    /// The entries of other hosts that have the path of a URL, whose host is none of the archive's.
    ///
    /// - Parameter effort: what is left of it for the request.
    fileprivate func elsewhere(
        _ uri: TargetURI, method: RequestMethod, effort: MissLook.Effort
    ) -> [ArchiveMiss.Nearest] {
        uri.withBytes { MissLook(self, $0, pathEnd: uri.pathEnd, method, effort: effort).elsewhere() }
    }
}

extension SubstitutionMap {
    /// What comes nearest to a URL whose host no archive has: at most three entries of other hosts with the same path,
    /// a part of large archives being looked at.
    public func nearestElsewhere(_ uri: TargetURI, method: RequestMethod) -> [ArchiveMiss.Nearest] {
        guard uri.scheme != .other else { return [] }
        let (uri, effort) = (uri.asArchived, MissLook.Effort())
        var found: [ArchiveMiss.Nearest] = []
        for archive in archives where found.count < 3 && effort.isLeft {
            found += archive.elsewhere(uri, method: method, effort: effort)
        }
        return Array(found.prefix(3))
    }
}

extension ArchiveMiss.Reason {
    /// What can be done about such a miss.
    ///
    /// - Parameters:
    ///   - isNearest: whether the archive answers with what comes nearest already.
    ///   - isForwarded: whether such requests go to the origin already.
    public func advice(isNearest: Bool, isForwarded: Bool = false) -> String {
        let nearest = isNearest ? "" : "let 'match: nearest' take what comes nearest, "
        return switch self {
        case .body: "Record it with this body, \(nearest)or map the URL."
        case .notRecorded: "Record it anew, with the bodies of responses, or map the URL."
        case .method: "Record it with this method, or map the URL."
        case .query: "Name parameters that change nothing in 'ignore-query', \(nearest)record it, or map the URL."
        case .path where isForwarded, .host where isForwarded: "Record it, or map the URL."
        case .path, .host: "Record it, map the URL, or let 'missing: forward' send it to the origin."
        }
    }
}

/// Looks for what comes nearest to a URL that is missed.
private struct MissLook {
    private let archive: MapArchive
    private let url: UnsafeRawBufferPointer
    private let pathEnd: Int
    private let method: RequestMethod
    private let asked: SplitQuery
    private let effort: Effort

    /// How much is looked at for the reason of a miss, and as much for what comes nearest.
    fileprivate final class Effort {
        /// About the bytes of queries that may be taken apart, which is what takes the most time: some 10 ns each.
        private static let most = 256 << 10
        private var left = Effort.most

        var isLeft: Bool { left > 0 }

        /// Begins anew, for another question.
        func renew() { left = Effort.most }

        /// Spends what it takes to look at an entry, and to compare some bytes.
        func look(comparing bytes: Int) { left -= 8 + bytes / 64 }

        /// Spends what it takes to take a query apart.
        func split(_ bytes: Int) { left -= 64 + bytes }
    }

    init(
        _ archive: MapArchive, _ url: UnsafeRawBufferPointer, pathEnd: Int, _ method: RequestMethod,
        effort: Effort = Effort()
    ) {
        self.effort = effort
        self.archive = archive
        self.url = url
        self.pathEnd = pathEnd
        self.method = method
        asked = SplitQuery(url, pathEnd: pathEnd, archive.index.rules)
    }

    func reason() -> ArchiveMiss.Reason {
        var result = ArchiveMiss.Reason.host
        forEachOfPath { place in
            guard hasScheme(archive.table.found(byURL: place)) else { return true }
            result = .query
            return false
        }
        guard result == .query else { return hasHost() ? .path : .host }
        // The entries of the URL itself, whatever is wrong with them.
        var usable = false
        var methodIsThere = false
        var isThere = false
        forEachOfURL { place in
            let entry = archive.table.found(byURL: place)
            guard hasScheme(entry) else { return true }
            isThere = true
            guard entry.isUsable, !entry.isPartial, entry.method != "HEAD" else { return true }
            usable = true
            methodIsThere =
                entry.method.utf8.elementsEqual(method.bytes) || (method.known == .head && entry.method == "GET")
            return !methodIsThere
        }
        guard isThere else { return .query }
        if methodIsThere { return .body }
        return usable ? .method : .notRecorded
    }

    /// Whether an entry's scheme is none that keeps it from answering.
    private func hasScheme(_ entry: EntryTable.Entry) -> Bool {
        guard archive.mode == .strict else { return true }
        return ArchiveFinder.withURL(entry) { recorded, _ in
            ArchiveIndex.isSecure(recorded) == ArchiveIndex.isSecure(url)
        }
    }

    /// The first entry that has the URL, and why it can't answer.
    func unusable() -> String? {
        var found: String?
        forEachOfURL { place in
            let entry = archive.table.found(byURL: place)
            let part =
                entry.status == 416 ? "only a range that it lacks was recorded" : "only a part of it was recorded"
            let words = entry.isPartial ? part : "it was recorded for HEAD alone"
            found = "\(archive.position(archive.table.index(ofURL: place))): \(entry.unusable?.words ?? words)"
            return false
        }
        return found
    }

    private func hasHost() -> Bool {
        let key = hostKey(url)
        return archive.hosts.contains { host in
            guard let port = host.port else { return false }
            if (host.scheme == "http" && port == 80) || (host.scheme == "https" && port == 443) {
                return host.host.utf8.elementsEqual(key)
            }
            return "\(host.scheme)://\(host.host):\(port)".utf8.elementsEqual(key)
        }
    }

    /// Host and port as entries are found by: with the scheme where the port is not its own.
    private func hostKey(_ url: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: url[hostKeyRange(url)])
    }

    private func hostKeyRange(_ url: UnsafeRawBufferPointer) -> Range<Int> {
        let start = ArchiveIndex.keyStart(url)
        let authorityStart = start > 0 ? start : (url.firstIndex(of: UInt8(ascii: ":")) ?? 0) + 3
        let rest = UnsafeRawBufferPointer(rebasing: url[min(authorityStart, url.count)...])
        let length = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.count
        return start..<(url.count - rest.count + length)
    }

    /// Calls `body` with the places of URLs of the same path, until it returns false.
    private func forEachOfPath(_ body: (Int) -> Bool) {
        archive.index.paths.forEach(ArchiveIndex.pathHash(url, pathEnd: pathEnd)) { place in
            isOfPath(place) && archive.counts(place) ? body(place) && effort.isLeft : effort.isLeft
        }
    }

    /// The same with those that are found by steps 1 to 3, whatever is wrong with them.
    private func forEachOfURL(_ body: (Int) -> Bool) {
        let hash = ArchiveIndex.looseHash(url, pathEnd: pathEnd, asked, archive.index.rules)
        archive.index.loose.forEach(hash) { place in
            guard isOfPath(place), archive.counts(place), isFound(place) else { return effort.isLeft }
            return body(place) && effort.isLeft
        }
    }

    private func isOfPath(_ place: Int) -> Bool {
        effort.look(comparing: pathEnd)
        return ArchiveFinder.withURL(archive.table.found(byURL: place)) { recorded, recordedEnd in
            ArchiveFinder.isSamePath(recorded, recordedEnd, url, pathEnd)
        }
    }

    /// Whether the query of a recorded URL finds the one that is asked for.
    private func isFound(_ place: Int) -> Bool {
        ArchiveFinder.withURL(archive.table.found(byURL: place)) { recorded, recordedEnd in
            effort.split(recorded.count - recordedEnd)
            return SplitQuery(recorded, pathEnd: recordedEnd, archive.index.rules).step(of: asked) != nil
        }
    }

    // MARK: What comes nearest

    func nearest() -> [ArchiveMiss.Nearest] {
        effort.renew()
        var scored: [(number: Int, score: Int)] = []
        var known: Set<Int> = []
        forEachOfPath { place in
            let entry = archive.table.found(byURL: place)
            let number = archive.table.index(ofURL: place)
            guard entry.isUsable, known.insert(number).inserted else { return true }
            let equal = ArchiveFinder.withURL(entry) { recorded, recordedEnd in
                effort.split(recorded.count - recordedEnd)
                return SplitQuery(recorded, pathEnd: recordedEnd, archive.index.rules).equalCount(asked)
            }
            scored.append((number, equal * 2 + (entry.method.utf8.elementsEqual(method.bytes) ? 1 : 0)))
            return true
        }
        var found = scored.sorted { $0.score != $1.score ? $0.score > $1.score : $0.number < $1.number }.map(\.number)
        if found.count < 3 { addOfSameName(&found) }
        return found.prefix(3).map(described)
    }

    /// Those of the same path on other hosts.
    func elsewhere() -> [ArchiveMiss.Nearest] {
        var found: [Int] = []
        addOfSameName(&found)
        return found.prefix(3).map(described)
    }

    /// Those of the same host and last segment, then of the same path on another host.
    private func addOfSameName(_ found: inout [Int]) {
        let host = hostKey(url)
        let path = path(of: url, pathEnd)
        let nameStart = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
        // With the slash before it.
        let name = UnsafeRawBufferPointer(rebasing: path[nameStart...])
        var others: [Int] = []
        var number = 0
        while number < archive.table.count, found.count < 3, effort.isLeft {
            defer { number += 1 }
            effort.look(comparing: path.count)
            let entry = archive.table[number]
            guard entry.isUsable, archive.counts(number), !found.contains(number) else { continue }
            ArchiveFinder.withURL(entry) { recorded, recordedEnd in
                let other = self.path(of: recorded, recordedEnd)
                if URLText.equal(hostKey(recorded), host) {
                    guard name.count > 1, other.count >= name.count else { return }
                    let end = UnsafeRawBufferPointer(rebasing: other[(other.count - name.count)...])
                    if URLText.equal(end, name) { found.append(number) }
                } else if others.count < 3, URLText.equal(other, path) {
                    others.append(number)
                }
            }
        }
        found += others.prefix(max(0, 3 - found.count))
    }

    private func path(of url: UnsafeRawBufferPointer, _ pathEnd: Int) -> UnsafeRawBufferPointer {
        let start = hostKeyRange(url).upperBound
        return UnsafeRawBufferPointer(rebasing: url[min(start, pathEnd)..<pathEnd])
    }

    private func described(_ number: Int) -> ArchiveMiss.Nearest {
        let entry = archive.table[number]
        let differs = ArchiveFinder.withURL(entry) { recorded, recordedEnd in
            guard ArchiveFinder.isSamePath(recorded, recordedEnd, url, pathEnd) else {
                return URLText.equal(hostKey(recorded), hostKey(url)) ? ["path"] : ["host"]
            }
            var names = SplitQuery(recorded, pathEnd: recordedEnd, archive.index.rules).namesThatDiffer(asked)
            if !hasScheme(entry) { names.append("scheme") }
            if !entry.method.utf8.elementsEqual(method.bytes) { names.append("method") }
            // A part answers its own range alone.
            if names.isEmpty { names.append(entry.isPartial ? "range" : "body") }
            return names
        }
        return ArchiveMiss.Nearest(
            position: archive.position(number), url: String(decoding: entry.url, as: UTF8.self), differs: differs)
    }
}
