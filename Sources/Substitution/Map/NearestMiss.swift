import HTTPSemantics
import NIOCore

/// Finds the rule that would answer a URL which is a little different, and says in what.
struct NearestMiss {
    let map: SubstitutionMap
    let uri: TargetURI
    let method: RequestMethod
    let fields: FieldSection

    /// The nearest miss: first by its query, then by scheme, a slash, the host's `www.`, the path's case, the port.
    func find(_ scratch: inout LookupScratch) -> Explanation.Miss? {
        let text = uri.description
        let pathText = String(decoding: Array(text.utf8)[..<uri.pathEnd], as: UTF8.self)
        let query = String(decoding: Array(text.utf8)[uri.pathEnd...], as: UTF8.self)
        if let id = exactWithOtherQuery() {
            return Explanation.Miss(rule: map.rule(id), reason: "matches but for its query; add 'query: ignore'")
        }
        let other: String? = uri.scheme == .http ? "https" : uri.scheme == .https ? "http" : nil
        if let other, let id = answer(other + text.utf8Dropping(uri.schemeLength), &scratch) {
            return Explanation.Miss(
                rule: map.rule(id),
                reason: "matches but for the scheme: the rule is for \(other); a key that begins with // is for both")
        }
        if pathText.hasSuffix("/") {
            if let id = answer(String(pathText.dropLast()) + query, &scratch) {
                return Explanation.Miss(
                    rule: map.rule(id), reason: "matches but for the '/' at the end, which the rule's URL does not have"
                )
            }
        } else if let id = answer(pathText + "/" + query, &scratch) {
            return Explanation.Miss(
                rule: map.rule(id), reason: "matches but for a '/' at the end, which the rule's URL has")
        }
        let prefix = uri.schemeText + "://"
        let behind = text.utf8Dropping(prefix.utf8.count)
        if uri.host.hasPrefix("www.") {
            if let id = answer(prefix + behind.dropFirst(4), &scratch) {
                return Explanation.Miss(
                    rule: map.rule(id), reason: "matches but for the host: the rule's has no 'www.'")
            }
        } else if let id = answer(prefix + "www." + behind, &scratch) {
            return Explanation.Miss(
                rule: map.rule(id), reason: "matches but for the host: the rule's begins with 'www.'")
        }
        return byScanning()
    }

    /// The rule that answers another URL in all else.
    private func answer(_ text: some StringProtocol, _ scratch: inout LookupScratch) -> RuleID? {
        guard let other = try? TargetURI(String(text)) else { return nil }
        return map.lookup(other, method: method, fields: fields, scratch: &scratch)?.id
    }

    /// The first exact rule of the same path with parameters of its own.
    private func exactWithOtherQuery() -> RuleID? {
        first { record, key, url in
            record.kind == .exact && key.count > uri.pathEnd && key[uri.pathEnd] == UInt8(ascii: "?")
                && URLText.hasPrefix(key, UnsafeRawBufferPointer(rebasing: url[0..<uri.pathEnd]))
        }
    }

    private func byScanning() -> Explanation.Miss? {
        let caseless = first { record, key, url in
            guard record.kind == .exact || record.kind == .folder else { return false }
            let end = URLText.pathEnd(key)
            guard record.kind == .folder ? end <= uri.pathEnd : end == uri.pathEnd, end > uri.pathStart else {
                return false
            }
            return URLText.equalIgnoringCase(key[0..<end], url[0..<end])
        }
        if let caseless {
            return Explanation.Miss(rule: map.rule(caseless), reason: "matches but for the case of the path")
        }
        let authorityEnd = uri.hostRange.upperBound
        let otherPort = first { record, key, url in
            guard record.kind == .exact || record.kind == .folder, key.count > authorityEnd,
                URLText.hasPrefix(key, UnsafeRawBufferPointer(rebasing: url[0..<authorityEnd])),
                key[authorityEnd] == UInt8(ascii: ":") || key[authorityEnd] == UInt8(ascii: "/"),
                let slash = key[authorityEnd...].firstIndex(of: UInt8(ascii: "/"))
            else { return false }
            let end = URLText.pathEnd(key)
            guard end > slash else { return false }
            let path = UnsafeRawBufferPointer(rebasing: key[slash..<end])
            let asked = UnsafeRawBufferPointer(rebasing: url[uri.pathStart..<uri.pathEnd])
            return record.kind == .folder ? URLText.hasPrefix(asked, path) : URLText.equal(asked, path)
        }
        guard let otherPort else { return nil }
        let rule = map.rule(otherPort)
        let port = (try? TargetURI(rule.key))?.port ?? 0
        return Explanation.Miss(rule: rule, reason: "matches but for the port: the rule is for port \(port)")
    }

    /// The first rule whose key and the URL have something in common.
    private func first(
        where isNear: (RuleRecord, _ key: UnsafeRawBufferPointer, _ url: UnsafeRawBufferPointer) -> Bool
    ) -> RuleID? {
        uri.withBytes { url in
            map.storage.arena.withUnsafeBytes { arena in
                let index = map.storage.records.firstIndex { record in
                    !record.isContinuation
                        && isNear(record, UnsafeRawBufferPointer(rebasing: arena[record.keyRange]), url)
                }
                return index.map { RuleID(UInt32(truncatingIfNeeded: $0)) }
            }
        }
    }
}

extension String {
    /// The text without so many bytes at its beginning.
    fileprivate func utf8Dropping(_ count: Int) -> String {
        String(decoding: utf8.dropFirst(count), as: UTF8.self)
    }
}
