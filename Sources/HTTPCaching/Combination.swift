import HTTPSemantics
import NIOCore

/// Parts of representations (RFC 9111 §3.3, §3.4).
public enum Combination {
    /// What is held once the content of `newer` is added to that of `held`; nil where the two may not be combined.
    ///
    /// They may where both have the same strong entity tag (RFC 9110 §15.3.7.3), where the sizes of the whole that they
    /// name are not different, and where their ranges meet or overlap. The newer response's fields win by RFC 9111
    /// §3.2, except that Set-Cookie is left out if the combined response would not have been stored with it. What is
    /// then complete has status 200 and no part.
    public static func combine(
        _ held: StoredResponse, with newer: StoredResponse, policy: CachePolicy
    ) -> StoredResponse? {
        guard isSameRepresentation(held, newer) else { return nil }
        var part: ContentPart?
        if let heldPart = held.part, let newerPart = newer.part {
            guard let union = union(heldPart, newerPart) else { return nil }
            part = union.isComplete ? nil : union
        }
        let isComplete = part == nil
        let hasDirectives = newer.directives.isTargeted || newer.fields.contains(.cacheControl)
        let saysLifetime = hasDirectives || newer.fields.contains(.expires)
        let directives = hasDirectives ? newer.directives : held.directives
        let lifetime = saysLifetime ? newer.lifetime : remainingLifetime(held, at: newer.date)
        let merged = UpdatingFields.merged(held.fields, with: newer.fields, ruling: directives, policy: policy)
        return StoredResponse(
            status: isComplete ? 200 : 206, reason: isComplete ? ByteBuffer(string: "OK") : newer.reason,
            fields: Sharing.withoutOneUsersCookies(merged, directives, lifetime, policy),
            directives: directives, lifetime: lifetime,
            correctedInitialAge: newer.correctedInitialAge, receivedAt: newer.receivedAt, date: newer.date,
            etag: newer.etag, lastModified: newer.lastModified ?? held.lastModified,
            selection: newer.fields.contains(.vary) ? newer.selection : held.selection,
            isAuthorized: held.isAuthorized || newer.isAuthorized, part: part, version: newer.version)
    }

    /// The bytes of the representation that a Range request for a held part needs, where the part has them all; nil
    /// where it has not, or where they are not one range.
    public static func range(of request: CacheRequest, within part: ContentPart) -> Range<Int>? {
        range(of: request.fields, method: request.method, within: part)
    }

    static func range(of request: FieldSection, method: Method, within part: ContentPart) -> Range<Int>? {
        // Where the size is not known, ranges that count from the end lie behind everything that can be held.
        let size = part.completeLength ?? .max
        let selection = ByteRangeSelection(method: method, fields: request, size: size)
        guard case .satisfiable(let ranges) = selection, let range = ranges.first, ranges.count == 1,
            part.range.contains(range)
        else { return nil }
        return range
    }

    private static func isSameRepresentation(_ held: StoredResponse, _ newer: StoredResponse) -> Bool {
        held.withEntityTag { tag in newer.withEntityTag { $0.matchesStrongly(tag) } ?? false } ?? false
    }

    /// The range that two parts hold together; nil where there is a gap between them or they are of different wholes.
    private static func union(_ one: ContentPart, _ other: ContentPart) -> ContentPart? {
        if let length = one.completeLength, let otherLength = other.completeLength, length != otherLength { return nil }
        let lower = max(one.range.lowerBound, other.range.lowerBound)
        guard lower <= min(one.range.upperBound, other.range.upperBound) else { return nil }
        let completeLength = one.completeLength ?? other.completeLength
        let start = min(one.range.lowerBound, other.range.lowerBound)
        let range = start..<max(one.range.upperBound, other.range.upperBound)
        if let completeLength, range.upperBound > completeLength { return nil }
        return ContentPart(range: range, completeLength: completeLength)
    }

    /// The lifetime of a response whose fields are kept, counted from a newer Date: what an Expires gives is shorter by
    /// the difference.
    private static func remainingLifetime(_ held: StoredResponse, at date: Int64) -> FreshnessLifetime {
        guard held.lifetime.source == .expires else { return held.lifetime }
        let seconds = held.lifetime.seconds &- (date &- held.date)
        return FreshnessLifetime(
            seconds: min(max(seconds, 0), ResponseDirectives.largestDelta), source: .expires)
    }
}
