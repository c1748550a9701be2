import Archives
import HTTPSemantics

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
        /// The names of parameters, or `path`, `method`, `body`.
        public let differs: [String]
    }

    public let reason: Reason
    /// Where what was asked for is not recorded: the first entry that has the URL and why it can't answer, as in
    /// `checkout.har#1: the body was not recorded`.
    public let unusable: String?
    /// What can be done about it.
    public let advice: String
    /// At most three.
    public let nearest: [Nearest]
    /// What the archive says of it.
    public let missing: ArchiveMissing
    /// The archive's name.
    public let archive: String
}

extension MapArchive {
    /// Why a request finds no entry here, and what comes nearest. Takes time in proportion to the archive: for what is
    /// missed, not for what is answered.
    ///
    /// - Parameter isTold: whether anybody reads what comes nearest.
    func miss(_ uri: TargetURI, method: RequestMethod, hasCandidates: Bool, isTold: Bool) -> ArchiveMiss {
        uri.withBytes { url in
            let look = MissLook(archive: self, url: url, pathEnd: uri.pathEnd, method: method)
            let reason = hasCandidates ? .body : look.reason()
            return ArchiveMiss(
                reason: reason, unusable: reason == .notRecorded ? look.unusable() : nil,
                advice: reason.advice(isNearest: mode == .nearest), nearest: isTold ? look.nearest() : [],
                missing: missing, archive: shortName)
        }
    }
}

extension ArchiveMiss.Reason {
    /// What can be done about such a miss.
    ///
    /// - Parameter isNearest: whether the archive answers with what comes nearest already.
    public func advice(isNearest: Bool) -> String {
        let nearest = isNearest ? "" : "let 'match: nearest' take what comes nearest, "
        return switch self {
        case .body: "Record it with this body, \(nearest)or map the URL."
        case .notRecorded: "Record it anew, with the bodies of responses, or map the URL."
        case .method: "Record it with this method, or map the URL."
        case .query: "Name parameters that change nothing in 'ignore-query', \(nearest)record it, or map the URL."
        case .path, .host: "Record it, map the URL, or let 'missing: forward' send it to the origin."
        }
    }
}

/// Looks for what comes nearest to a URL that is missed.
private struct MissLook {
    let archive: MapArchive
    let url: UnsafeRawBufferPointer
    let pathEnd: Int
    let method: RequestMethod

    /// The most entries that are looked at for those of the same last segment.
    private static let most = 20_000

    private var asked: SplitQuery { SplitQuery(url, pathEnd: pathEnd, archive.index.rules) }

    func reason() -> ArchiveMiss.Reason {
        var result = ArchiveMiss.Reason.host
        forEachOfPath { _ in
            result = .query
            return false
        }
        guard result == .query else { return hasHost() ? .path : .host }
        // The entries of the URL itself, whatever is wrong with them.
        let asked = asked
        var looks = 0
        var usable = false
        var methodIsThere = false
        var isThere = false
        forEachOfPath { place in
            let entry = archive.table.found(byURL: place)
            let isSame = ArchiveFinder.withURL(entry) { url, pathEnd in
                SplitQuery(url, pathEnd: pathEnd, archive.index.rules).step(of: asked) != nil
            }
            looks += 1
            guard isSame else { return looks < 10_000 }
            isThere = true
            let isWhole = entry.isUsable && !entry.isPartial && entry.method != "HEAD"
            if isWhole { usable = true }
            if isWhole,
                entry.method.utf8.elementsEqual(method.bytes) || (method.known == .head && entry.method == "GET")
            {
                methodIsThere = true
            }
            return true
        }
        guard isThere else { return .query }
        if methodIsThere { return .body }
        return usable ? .method : .notRecorded
    }

    /// The first entry that has the URL, and why it can't answer.
    func unusable() -> String? {
        let asked = asked
        var looks = 0
        var found: String?
        forEachOfPath { place in
            let entry = archive.table.found(byURL: place)
            looks += 1
            let isSame = ArchiveFinder.withURL(entry) { url, pathEnd in
                SplitQuery(url, pathEnd: pathEnd, archive.index.rules).step(of: asked) != nil
            }
            guard isSame else { return looks < 10_000 }
            let words = entry.isPartial ? "only a part of it was recorded" : "it was recorded for HEAD alone"
            found = "\(archive.position(archive.table.index(ofURL: place))): \(entry.unusable?.words ?? words)"
            return false
        }
        return found
    }

    private func hasHost() -> Bool {
        let key = hostKey(url)
        return archive.hosts.contains { host in
            let authority = host.port.map { port in
                (host.scheme == "http" && port == 80) || (host.scheme == "https" && port == 443)
                    ? host.host : "\(host.scheme)://\(host.host):\(port)"
            }
            return authority?.utf8.elementsEqual(key) ?? false
        }
    }

    /// Host and port as entries are found by: with the scheme where the port is not its own.
    private func hostKey(_ url: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
        let start = ArchiveIndex.keyStart(url)
        let authorityStart = start > 0 ? start : (url.firstIndex(of: UInt8(ascii: ":")) ?? 0) + 3
        let end = url[min(authorityStart, url.count)...].firstIndex(of: UInt8(ascii: "/")) ?? url.count
        return url[start..<end]
    }

    /// Calls `body` with the places of URLs.
    private func forEachOfPath(_ body: (Int) -> Bool) {
        let mine = UnsafeRawBufferPointer(rebasing: url[ArchiveIndex.keyStart(url)..<pathEnd])
        archive.index.paths.forEach(ArchiveIndex.pathHash(url, pathEnd: pathEnd)) { place in
            let isSame = ArchiveFinder.withURL(archive.table.found(byURL: place)) { url, pathEnd in
                URLText.equal(mine, UnsafeRawBufferPointer(rebasing: url[ArchiveIndex.keyStart(url)..<pathEnd]))
            }
            return isSame && archive.counts(place) ? body(place) : true
        }
    }

    // MARK: What comes nearest

    func nearest() -> [ArchiveMiss.Nearest] {
        var found: [Int] = []
        var scored: [(number: Int, score: Int)] = []
        let asked = asked
        forEachOfPath { place in
            let entry = archive.table.found(byURL: place)
            guard entry.isUsable else { return true }
            let equal = ArchiveFinder.withURL(entry) { url, pathEnd in
                SplitQuery(url, pathEnd: pathEnd, archive.index.rules).equalCount(asked)
            }
            let number = archive.table.index(ofURL: place)
            guard place == number || !scored.contains(where: { $0.number == number }) else { return true }
            scored.append((number, equal * 2 + (entry.method.utf8.elementsEqual(method.bytes) ? 1 : 0)))
            return scored.count < 10_000
        }
        found = scored.sorted { $0.score != $1.score ? $0.score > $1.score : $0.number < $1.number }.map(\.number)
        if found.count < 3 { addOfSameName(&found) }
        return found.prefix(3).map(described)
    }

    /// Those of the same host and last segment, then of the same path on another host.
    private func addOfSameName(_ found: inout [Int]) {
        let host = Array(hostKey(url))
        let path = Array(pathOf(url, pathEnd))
        let name = lastSegment(path[...])
        var others: [Int] = []
        for number in 0..<min(archive.table.count, MissLook.most) where archive.counts(number) {
            let entry = archive.table[number]
            guard entry.isUsable, found.count < 3, !found.contains(number) else { continue }
            let (isSameName, isSamePath) = ArchiveFinder.withURL(entry) { url, pathEnd in
                let other = Array(pathOf(url, pathEnd))
                let isHost = hostKey(url).elementsEqual(host)
                return (isHost && !name.isEmpty && lastSegment(other[...]) == name, !isHost && other == path)
            }
            if isSameName { found.append(number) } else if isSamePath, others.count < 3 { others.append(number) }
        }
        found += others.prefix(max(0, 3 - found.count))
    }

    private func pathOf(_ url: UnsafeRawBufferPointer, _ pathEnd: Int) -> Slice<UnsafeRawBufferPointer> {
        url[min(hostKey(url).endIndex, pathEnd)..<pathEnd]
    }

    private func lastSegment(_ path: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        path[((path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 }) ?? path.startIndex)...]
    }

    private func described(_ number: Int) -> ArchiveMiss.Nearest {
        let entry = archive.table[number]
        let differs = ArchiveFinder.withURL(entry) { recorded, recordedEnd in
            let isSamePath = URLText.equal(
                UnsafeRawBufferPointer(rebasing: recorded[ArchiveIndex.keyStart(recorded)..<recordedEnd]),
                UnsafeRawBufferPointer(rebasing: url[ArchiveIndex.keyStart(url)..<pathEnd]))
            guard isSamePath else {
                return hostKey(recorded).elementsEqual(hostKey(url)) ? ["path"] : ["host"]
            }
            var names = SplitQuery(recorded, pathEnd: recordedEnd, archive.index.rules).namesThatDiffer(asked)
            if !entry.method.utf8.elementsEqual(method.bytes) { names.append("method") }
            if names.isEmpty { names.append("body") }
            return names
        }
        return ArchiveMiss.Nearest(
            position: archive.position(number), url: String(decoding: entry.url, as: UTF8.self), differs: differs)
    }
}
