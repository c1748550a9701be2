import HTTP1Invariants
import HTTPCaching
import HTTPSemantics
import NIOCore

/// Properties of what is stored and used again (RFC 9111), whatever the fields of request and response are.
enum CachingInvariants {
    private static let receivedAt = CacheInstant(wall: 1_795_000_000, steady: 1_000_000_000_000)

    /// - Parameter bytes: one that chooses method and status; lines of a request, an empty line, lines of a response.
    static func check(_ bytes: [UInt8]) throws {
        let methods: [HTTPSemantics.Method] = [.get, .get, .get, .head, .post, .put]
        let statuses = [200, 200, 206, 203, 204, 301, 302, 304, 404, 410, 500, 299, 100, 999]
        let choice = Int(bytes.first ?? 0)
        var sections = [FieldSection(), FieldSection()]
        var index = 0
        for line in bytes.dropFirst().split(separator: 0x0a, omittingEmptySubsequences: false) {
            if line.isEmpty { index = 1 }
            guard let field = field(line), sections[index].count < 64 else { continue }
            sections[index].append(name: field.name, value: field.value)
        }
        let request = CacheRequest(
            method: methods[choice % methods.count], fields: sections[0], hasContent: choice & 0x80 != 0)
        let response = OriginResponse(
            status: statuses[choice / methods.count % statuses.count], reason: ByteBuffer(string: "R"),
            fields: sections[1], requestedAt: CacheInstant(wall: 1_794_999_990, steady: 990_000_000_000),
            receivedAt: receivedAt)
        try check(request, response)
    }

    /// A line as a parser of HTTP/1 lets it through.
    private static func field(_ line: ArraySlice<UInt8>) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)? {
        guard let colon = line.firstIndex(of: 0x3a), colon > line.startIndex else { return nil }
        let name = line[..<colon]
        var value = line[(colon + 1)...]
        while let first = value.first, first == 0x20 || first == 0x09 { value = value.dropFirst() }
        while let last = value.last, last == 0x20 || last == 0x09 { value = value.dropLast() }
        guard name.allSatisfy({ $0.isMember(of: .token) }), value.allSatisfy({ $0.isMember(of: .fieldValue) }) else {
            return nil
        }
        return (name, value)
    }

    private static func check(_ request: CacheRequest, _ response: OriginResponse) throws {
        let target = try TargetURI("http://a.test/b?c")
        let shared = CachePolicy()
        let own = CachePolicy(mode: .private)
        let storedShared = stored(Storing.verdict(request, target: target, response, policy: shared))
        let storedOwn = stored(Storing.verdict(request, target: target, response, policy: own))
        for (stored, policy) in [(storedShared, shared), (storedOwn, own)] {
            guard let stored else { continue }
            try require(!request.directives.noStore, "stored in spite of the request")
            try require(stored.mayBeKept(by: policy), "stored, and not to be kept")
            try checkStored(stored, request, policy)
            try checkUpdates(stored, request, response, policy)
        }
        guard let storedShared else { return }
        let isAllowed = response.fields.contains(.authorization) || storedShared.mayBeKept(by: own)
        try require(isAllowed, "stored for all and not for one")
    }

    private static func stored(_ verdict: StoreVerdict) -> StoredResponse? {
        if case .store(let stored) = verdict { return stored }
        return nil
    }

    private static let unstored: [FieldName] = [
        .connection, .keepAlive, .proxyConnection, .te, .transferEncoding, .upgrade, .http2Settings, .trailer,
        .proxyAuthenticate, .proxyAuthorization, .contentLength, .age,
    ]

    private static func checkStored(
        _ stored: StoredResponse, _ request: CacheRequest, _ policy: CachePolicy
    ) throws {
        try require(!unstored.contains { stored.fields.contains($0) }, "fields \(stored.fields.lines)")
        try require(stored.fields.contains(.date), "no Date")
        try require(0...(1 << 31) ~= stored.lifetime.seconds, "lifetime \(stored.lifetime)")
        try require(stored.selection.names.count <= SelectingFields.maximumNames, "\(stored.selection.names.count)")
        try require(stored.selection.matches(request), "its own request does not select it")
        if let part = stored.part {
            try require(!part.range.isEmpty && part.range.lowerBound >= 0, "part \(part)")
            try require(stored.status == 206 && !part.isComplete, "part \(part) of \(stored.status)")
        }
        var last: Int64 = 0
        // Also a clock that has gone back, and one that has run for centuries.
        for steady in [0, receivedAt.steady, receivedAt.steady + 1_500_000_000, 5_000_000_000_000, .max] {
            let now = CacheInstant(wall: .max, steady: steady)
            let age = stored.currentAge(at: now)
            try require(last...(1 << 31) ~= age, "age \(age) after \(last)")
            last = age
            let verdict = Reuse.verdict(request, stored, at: now, policy: policy)
            let isUnfit =
                request.directives.noCache || stored.directives.noCache == .all || age >= stored.lifetime.seconds
            try require(verdict != .fresh || !isUnfit, "\(verdict) at an age of \(age) of \(stored.lifetime)")
            if case .stale = verdict {
                try require(!Reuse.forbidsStale(stored, policy: policy), "stale, and must not be")
            }
            if request.directives.onlyIfCached { _ = Reuse.isShareable(stored, with: request, at: now, policy: policy) }
        }
    }

    private static func checkUpdates(
        _ stored: StoredResponse, _ request: CacheRequest, _ response: OriginResponse, _ policy: CachePolicy
    ) throws {
        try require(Selection.select(request, among: [stored, stored]) != nil, "not selected")
        if let combined = Combination.combine(stored, with: stored, policy: policy) {
            try require(combined.part == stored.part, "combined with itself: \(String(describing: combined.part))")
        }
        let preconditions = Validation.preconditions(stored, request: request.fields)
        if let tags = preconditions.ifNoneMatch, let etag = stored.etag, stored.part == nil {
            let isAsked = etag.withUnsafeBytes { bytes in
                guard let own = EntityTag(bytes) else { return true }
                return tags.withUnsafeBytes { EntityTagList($0).contains { $0.matchesWeakly(own) } }
            }
            try require(isAsked, "the stored tag \(etag) is not among \(tags)")
        }
        var notModified = response
        notModified.status = 304
        notModified.receivedAt.steady += 3_600_000_000_000
        notModified.requestedAt.steady += 3_600_000_000_000
        let outcome = Validation.outcome(stored, notModified: notModified, request: request, policy: policy)
        guard case .freshened(let fresh) = outcome else { return }
        try require(fresh.status == stored.status && fresh.part == stored.part, "freshened to another response")
        try require(!unstored.contains { fresh.fields.contains($0) }, "fields \(fresh.fields.lines)")
        try require(fresh.currentAge(at: notModified.receivedAt) >= 0, "an age below 0")
    }
}
