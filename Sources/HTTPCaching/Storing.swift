public import HTTPSemantics
import NIOCore

/// Which responses are stored (RFC 9111 §3).
///
/// - Those to GET without content; and those to POST with status 200 or 203, explicit freshness and a Content-Location
///   that is the target (RFC 9110 §9.3.3). HEAD is answered from a stored GET, and never stored.
/// - Never: 1xx, 304, and the statuses that speak of one request (``CacheableStatus``).
/// - Not with `no-store` in the request or the response; but `must-understand` takes the response's back where the
///   status is a known one, and where it is not, refuses by itself.
/// - A shared cache: not with `private` that names no fields; to a request with Authorization only with `public`,
///   `must-revalidate` or s-maxage; Set-Cookie only where max-age, s-maxage or Expires makes it fresh, and without
///   no-cache.
/// - Not where Vary is `*`.
/// - 206 only as the answer to a Range, with one valid Content-Range; one that holds all bytes is stored as a 200.
/// - And only where the response says so: by max-age, s-maxage, Expires or `public`, or by a status that is cacheable
///   by default (RFC 9110 §15.1). In that last case a shared cache wants more than the status: a directive for caches,
///   or a Last-Modified that gives a heuristic lifetime. An ETag alone is not enough.
public enum Storing {
    /// Whether `response` to `request` may be stored, and what is then kept of it.
    public static func verdict(
        _ request: CacheRequest, target: TargetURI, _ response: OriginResponse, policy: CachePolicy
    ) -> StoreVerdict {
        guard request.method == .get || request.method == .post else { return .refuse(.method) }
        guard request.method == .post || !request.hasContent else { return .refuse(.requestContent) }
        guard !request.directives.noStore else { return .refuse(.requestNoStore) }
        guard CacheableStatus.isStorable(response.status) else { return .refuse(.status) }

        let directives = ResponseDirectives(response.fields, policy: policy)
        if let refusal = Sharing.refusal(of: directives, to: request, status: response.status, policy: policy) {
            return .refuse(refusal)
        }
        if request.method == .post, !representsTarget(target, response) { return .refuse(.method) }

        let names: [[UInt8]]
        switch SelectingFields.nomination(by: response.fields) {
        case .any: return .refuse(.varyAny)
        case .tooMany: return .refuse(.varyTooLong)
        case .fields(let nominated): names = nominated
        }

        var part: ContentPart?
        if response.status == 206 {
            part = ContentPart(request, response)
            guard part != nil else { return .refuse(.partial) }
        }

        let wall = response.receivedAt.boundedWall
        let parsedDate = CacheDate.first(.date, in: response.fields, now: wall)
        let date = parsedDate ?? wall
        let lastModified = CacheDate.first(.lastModified, in: response.fields, now: date)
        let lifetime = FreshnessLifetime(
            directives, fields: response.fields, status: response.status, date: date, lastModified: lastModified,
            policy: policy)
        var unstored = UnstoredNames(response.fields, directives, policy: policy)
        if part != nil {
            unstored.insertContentDigests()
            unstored.insert(.contentRange)
        }
        if let refusal = refusal(request, response, directives, lifetime, unstored, policy) { return .refuse(refusal) }

        let isWhole = part?.isComplete ?? false
        let isDateKept = parsedDate != nil && !unstored.recognised.contains(.date)
        let kept = StoredFields.kept(response.fields, without: unstored, replacingDate: isDateKept ? nil : date)
        return .store(
            StoredResponse(
                status: isWhole ? 200 : response.status, reason: isWhole ? ByteBuffer(string: "OK") : response.reason,
                fields: kept, directives: directives, lifetime: lifetime,
                correctedInitialAge: Age.correctedInitial(response, date: date), receivedAt: response.receivedAt,
                date: date, etag: kept.etagValue, lastModified: kept.contains(.lastModified) ? lastModified : nil,
                selection: SelectingFields(names: names, of: request),
                isAuthorized: request.isAuthorized, part: isWhole ? nil : part,
                version: response.version))
    }

    /// What is missing for storing it (the last condition of RFC 9111 §3, and what a shared cache wants more).
    private static func refusal(
        _ request: CacheRequest, _ response: OriginResponse, _ directives: ResponseDirectives,
        _ lifetime: FreshnessLifetime, _ unstored: UnstoredNames, _ policy: CachePolicy
    ) -> StoreRefusal? {
        let isAllowed =
            lifetime.isExplicit || directives.isPublic || (!policy.isShared && directives.isPrivate != nil)
            || CacheableStatus.isHeuristicallyCacheable(response.status)
        guard isAllowed else { return .notExplicit }
        if request.method == .post, !lifetime.isExplicit { return .notExplicit }
        guard policy.isShared else { return nil }
        // Without freshness it would only be reused after a validation, by whose 304 one client's goes to the next.
        if response.fields.contains(.setCookie), !unstored.recognised.contains(.setCookie),
            !Sharing.allowsCookies(directives, lifetime, policy)
        {
            return .setCookie
        }
        guard lifetime.source != .none || directives.speakOfCaching else { return .notExplicit }
        return nil
    }

    /// Whether the content of a response to POST is a representation of the target (RFC 9110 §9.3.3).
    private static func representsTarget(_ target: TargetURI, _ response: OriginResponse) -> Bool {
        guard response.status == 200 || response.status == 203, response.fields.count(of: .contentLocation) == 1 else {
            return false
        }
        let location = response.fields.withFirst(.contentLocation) { URIReference.resolve($0, against: target) } ?? nil
        return location.map { CacheKey($0) == CacheKey(target) } ?? false
    }
}

extension ContentPart {
    /// Reads which bytes a 206 holds; nil where no range was asked for, where there is not exactly one valid
    /// Content-Range, or where the Content-Length or the range asked for is another.
    public init?(_ request: CacheRequest, _ response: OriginResponse) {
        guard request.fields.contains(.range), response.fields.count(of: .contentRange) == 1,
            let part = response.fields.withFirst(.contentRange, { ContentPart($0) }) ?? nil
        else { return nil }
        if let length = response.fields.withFirst(.contentLength, { $0.trimmingOptionalWhitespace.decimalValue }) {
            guard length == part.range.count else { return nil }
        }
        let size = part.completeLength ?? .max
        guard case .satisfiable(let asked) = ByteRangeSelection(method: .get, fields: request.fields, size: size),
            asked.contains(where: { $0.overlaps(part.range) }) || part.completeLength == nil
        else { return nil }
        self = part
    }
}
