import HTTPSemantics
import Patterns

/// Finds the rule that would answer a URL which is a little different, and says in what.
struct NearestMiss {
    let map: SubstitutionMap
    let uri: TargetURI
    let method: RequestMethod
    let fields: FieldSection

    /// How many other ports, and how many segments of a path, are tried at most.
    private static let mostPorts = 64
    private static let mostSegments = 8

    /// The nearest miss: first by its query, then by scheme, a slash, the host's `www.`, a star that is one too few,
    /// the path's case, the port, the path's beginning, a scheme that only maps know.
    func find(_ scratch: inout LookupScratch) -> Explanation.Miss? {
        if let id = exactWithOtherQuery() { return miss(id, "matches but for its query; add 'query: ignore'") }
        return ofPatternsQuery(&scratch) ?? ofScheme(&scratch) ?? ofSlash(&scratch) ?? ofHost(&scratch)
            ?? ofStar(&scratch) ?? ofCase(&scratch) ?? ofPort(&scratch) ?? ofBeginning(&scratch)
            ?? ofOtherScheme(&scratch)
    }

    private func miss(_ id: RuleID, _ reason: String) -> Explanation.Miss {
        Explanation.Miss(rule: map.rule(id), reason: reason)
    }

    // MARK: The URL's parts

    private var text: String { uri.description }
    private var path: String { text.utf8Text(uri.pathStart..<uri.pathEnd) }
    private var query: String { text.utf8Text(uri.pathEnd..<text.utf8.count) }
    /// What stands behind the host: the port where it isn't the scheme's own.
    private var port: String { text.utf8Text(uri.hostRange.upperBound..<uri.pathStart) }
    private var origin: String { text.utf8Text(0..<uri.pathStart) }
    /// The URL without its query.
    private var asked: [UInt8] { Array(text.utf8.prefix(uri.pathEnd)) }

    // MARK: Other URLs

    /// The rule that answers another URL.
    private func answer(_ text: String, _ scratch: inout LookupScratch) -> RuleID? {
        guard let other = try? TargetURI(text) else { return nil }
        return map.lookup(other, method: method, fields: fields, scratch: &scratch)?.id
    }

    private func ofScheme(_ scratch: inout LookupScratch) -> Explanation.Miss? {
        guard uri.scheme != .other else { return nil }
        let other = uri.scheme == .http ? "https" : "http"
        guard let id = answer("\(other)://\(uri.host)\(port)\(path)\(query)", &scratch) else { return nil }
        return miss(
            id, "matches but for the scheme: the rule is for \(other); a key that begins with // is for both")
    }

    private func ofSlash(_ scratch: inout LookupScratch) -> Explanation.Miss? {
        if path.hasSuffix("/") {
            guard let id = answer(origin + path.dropLast() + query, &scratch) else { return nil }
            return miss(id, "matches but for the '/' at the end, which the rule's URL does not have")
        }
        guard let id = answer(origin + path + "/" + query, &scratch) else { return nil }
        return miss(id, "matches but for a '/' at the end, which the rule's URL has")
    }

    private func ofHost(_ scratch: inout LookupScratch) -> Explanation.Miss? {
        let rest = port + path + query
        if uri.host.hasPrefix("www."), let id = answer("\(uri.schemeText)://\(uri.host.dropFirst(4))\(rest)", &scratch)
        {
            return miss(id, "matches but for the host: the rule's has no 'www.'")
        }
        guard !uri.host.hasPrefix("www."), let id = answer("\(uri.schemeText)://www.\(uri.host)\(rest)", &scratch)
        else {
            return nil
        }
        let rule = map.rule(id)
        guard rule.kind != .expression else {
            return miss(id, "matches but for the host: the rule's expression matches 'www.\(uri.host)'")
        }
        let host = rule.key.dropFirst("\(uri.schemeText)://".count).prefix { $0 != "/" }
        guard host.contains("*") else { return miss(id, "matches but for the host: the rule's begins with 'www.'") }
        return miss(
            id, "matches but for the host: the rule's is '\(host)', and a star in it stands for a label or more")
    }

    private func ofPort(_ scratch: inout LookupScratch) -> Explanation.Miss? {
        var tried: Set<String> = [port]
        for named in namedHosts where named.scheme == uri.schemeText && isHost(named.host) {
            guard tried.count <= Self.mostPorts else { return nil }
            let given = named.portPattern ?? named.port.map { "\($0)" }
            let other = given.map { port in ":" + String(port.map { $0 == "*" ? "1" : $0 }) } ?? ""
            guard tried.insert(other).inserted,
                let id = answer("\(uri.schemeText)://\(uri.host)\(other)\(path)\(query)", &scratch)
            else { continue }
            return miss(
                id, "matches but for the port: the rule is for " + (given.map { "port " + $0 } ?? "URLs without one"))
        }
        return nil
    }

    /// Rules of the same host with a scheme that an origin is never asked by, or for a URL that has one.
    private func ofOtherScheme(_ scratch: inout LookupScratch) -> Explanation.Miss? {
        var tried: Set<String> = [uri.schemeText]
        for named in namedHosts where named.host == uri.host && tried.insert(named.scheme).inserted {
            if let id = answer("\(named.scheme)://\(uri.host)\(port)\(path)\(query)", &scratch) {
                return miss(id, "matches but for the scheme: the rule is for \(named.scheme)")
            }
        }
        return nil
    }

    /// The hosts that rules name.
    private var namedHosts: [NamedHost] {
        map.storage.authorities.entries.compactMap { NamedHost(map.storage.text($0.range)) }
    }

    private func isHost(_ pattern: String) -> Bool {
        pattern == uri.host || pattern.utf8.contains(UInt8(ascii: "*"))
    }

    /// A path that begins with more than the rule's, or with less.
    private func ofBeginning(_ scratch: inout LookupScratch) -> Explanation.Miss? {
        for (dropped, rest) in path.withoutBeginnings(Self.mostSegments) {
            guard let id = answer(origin + rest + query, &scratch) else { continue }
            return miss(id, "matches but for the beginning of the path: the rule's URL does not have '\(dropped)'")
        }
        var missing = ""
        let asked = asked
        let id = firstMatching(&scratch) { key in
            guard !key.hasParameters else { return false }
            return key.path.withoutBeginnings(Self.mostSegments).contains { dropped, rest in
                guard !dropped.utf8.contains(UInt8(ascii: "*")) else { return false }
                missing = dropped
                return key.matches(asked, withPath: rest)
            }
        }
        return id.map {
            miss($0, "matches but for the beginning of the path: the rule's URL has '\(missing)' before it")
        }
    }

    // MARK: Other rules

    /// The first exact rule of the same path with parameters of its own.
    private func exactWithOtherQuery() -> RuleID? {
        uri.withBytes { url in
            let path = UnsafeRawBufferPointer(rebasing: url[0..<uri.pathEnd])
            return map.storage.arena.withUnsafeBytes { arena in
                let index = map.storage.records.firstIndex { record in
                    guard record.kind == .exact, !record.isContinuation else { return false }
                    let key = UnsafeRawBufferPointer(rebasing: arena[record.keyRange])
                    return key.count > uri.pathEnd && key[uri.pathEnd] == UInt8(ascii: "?")
                        && URLText.hasPrefix(key, path)
                }
                return index.map { RuleID(UInt32(truncatingIfNeeded: $0)) }
            }
        }
    }

    /// A pattern with parameters of its own, which the request has not.
    private func ofPatternsQuery(_ scratch: inout LookupScratch) -> Explanation.Miss? {
        var query = ""
        let asked = asked
        let id = firstMatching(&scratch) { key in
            query = key.query
            return key.hasParameters && key.matches(asked, withPath: key.path)
        }
        return id.map { miss($0, "matches but for its query: the rule's URL has '\(query)'") }
    }

    /// A pattern with `*` where the URL has a slash.
    private func ofStar(_ scratch: inout LookupScratch) -> Explanation.Miss? {
        let asked = asked
        let id = firstMatching(&scratch) { key in
            key.kind == .pattern && !key.hasParameters && key.matches(asked, withPath: key.path.withLongerStars)
        }
        return id.map { miss($0, "matches but for '*', which stands for text within one segment; '**' would match") }
    }

    private func ofCase(_ scratch: inout LookupScratch) -> Explanation.Miss? {
        let lowercased = asked.map { URLText.lowercased($0) }
        let id = firstMatching(&scratch) { key in
            !key.hasParameters && key.matches(lowercased, withPath: key.path.asciiLowercasedText)
        }
        return id.map { miss($0, "matches but for the case of the path") }
    }

    /// The first rule whose key is near, and whose conditions hold.
    private func firstMatching(
        _ scratch: inout LookupScratch, _ isNear: (NearKey) -> Bool
    ) -> RuleID? {
        uri.withBytes { url in
            let input = ConditionInput(url: url, pathEnd: uri.pathEnd, method: method.known)
            return map.storage.arena.withUnsafeBytes { arena in
                map.storage.records.withUnsafeBufferPointer { records in
                    let finder = RuleFinder(map: map, arena: arena, records: records)
                    for index in records.indices {
                        let record = records[index]
                        guard !record.isContinuation,
                            let key = NearKey(record, UnsafeRawBufferPointer(rebasing: arena[record.keyRange])),
                            isNear(key)
                        else { continue }
                        var next = UInt32(truncatingIfNeeded: index)
                        while next != RuleRecord.none {
                            if finder.failure(records[Int(next)], input, method, fields, &scratch.memory) == nil {
                                return RuleID(next)
                            }
                            next = records[Int(next)].next
                        }
                    }
                    return nil
                }
            }
        }
    }
}

/// A key that is compared with a URL after it was changed.
private struct NearKey {
    let kind: RuleKind
    /// Scheme, host and port.
    let origin: String
    let path: String
    /// Without the `?`.
    let query: String

    /// Nil for a regular expression, and for what has no path.
    init?(_ record: RuleRecord, _ bytes: UnsafeRawBufferPointer) {
        guard record.kind != .expression else { return nil }
        let end = URLText.pathEnd(bytes)
        var slashes = 0
        let start = bytes[..<end].firstIndex { byte in
            slashes += byte == UInt8(ascii: "/") ? 1 : 0
            return slashes == 3
        }
        guard let start else { return nil }
        kind = record.kind
        origin = String(decoding: bytes[..<start], as: UTF8.self)
        path = String(decoding: bytes[start..<end], as: UTF8.self)
        query = String(decoding: bytes[end...].dropFirst(), as: UTF8.self)
    }

    /// Whether it is a pattern that wants parameters.
    var hasParameters: Bool { kind == .pattern && !query.isEmpty }

    /// Whether the key matches a URL without its query, where its own path is another.
    func matches(_ asked: [UInt8], withPath path: String) -> Bool {
        let key = Array((origin + path).utf8)
        switch kind {
        case .exact: return asked == key
        case .folder: return asked.starts(with: key)
        case .pattern:
            guard let pattern = try? URLPattern(key) else { return false }
            var scratch = MatchScratch()
            var captures = CaptureList()
            return asked.withUnsafeBytes { pattern.wholeMatch(in: $0, scratch: &scratch, captures: &captures) }
        case .expression: return false
        }
    }
}

extension String {
    /// A part of the text by its bytes in UTF-8.
    fileprivate func utf8Text(_ range: Range<Int>) -> String {
        String(decoding: utf8.dropFirst(range.lowerBound).prefix(range.count), as: UTF8.self)
    }

    fileprivate var asciiLowercasedText: String { String(decoding: utf8.map { URLText.lowercased($0) }, as: UTF8.self) }

    /// A pattern's path with `**` for each `*`.
    fileprivate var withLongerStars: String {
        let star = UInt8(ascii: "*")
        var text: [UInt8] = []
        let bytes = Array(utf8)
        for (index, byte) in bytes.enumerated() {
            text.append(byte)
            guard byte == star, index + 1 == bytes.count || bytes[index + 1] != star else { continue }
            guard index == 0 || bytes[index - 1] != star else { continue }
            text.append(star)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// A path without its first segment, its first two and so on, with what is left out; as long as a name is left.
    fileprivate func withoutBeginnings(_ count: Int) -> [(dropped: String, rest: String)] {
        var found: [(dropped: String, rest: String)] = []
        let bytes = Array(utf8)
        var index = 1
        while found.count < count, let slash = bytes[min(index, bytes.count)...].firstIndex(of: UInt8(ascii: "/")) {
            let rest = bytes[slash...]
            guard rest.contains(where: { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "*") }) else { break }
            found.append((String(decoding: bytes[..<slash], as: UTF8.self), String(decoding: rest, as: UTF8.self)))
            index = slash + 1
        }
        return found
    }
}
