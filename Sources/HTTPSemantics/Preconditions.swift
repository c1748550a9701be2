/// Decides a conditional request, in the order of RFC 9110 §13.2.2.
///
/// 1. If-Match, by strong comparison: no match → 412.
/// 2. If-Unmodified-Since, without If-Match: modified since → 412.
/// 3. If-None-Match, by weak comparison: a match → 304 for GET and HEAD, 412 for other methods.
/// 4. If-Modified-Since, without If-None-Match, for GET and HEAD: not modified since → 304.
/// 5. If-Range says whether Range counts: ``ifRangeHolds(_:etag:lastModified:date:)``.
///
/// A date field that is malformed or there twice is ignored, and so are dates where the representation has none. A date
/// in the future is a date like any other: nothing can have been modified since.
public enum Preconditions {
    public enum Outcome: Sendable, Equatable {
        /// The method is carried out.
        case proceed
        /// 304 (Not Modified).
        case notModified
        /// 412 (Precondition Failed).
        case failed
    }

    private static let names = FieldNameSet(.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince)

    /// Decides a request whose selected representation has these validators.
    ///
    /// - Parameters:
    ///   - etag: The whole value of its ETag field; nil where it has none.
    ///   - lastModified: Unix seconds; nil where it has none.
    ///   - exists: Whether there is a current representation at all, which is what `*` asks. Default true.
    ///   - now: Unix seconds, for years of two digits.
    public static func evaluate(
        method: Method, fields: FieldSection, etag: UnsafeRawBufferPointer?, lastModified: Int64?, exists: Bool = true,
        now: Int64
    ) -> Outcome {
        guard !fields.present.isDisjoint(with: names) else { return .proceed }
        // RFC 9110 §13.2.1: these methods select no representation.
        guard method != .connect, method != .options, method != .trace else { return .proceed }
        let current = etag.flatMap { EntityTag($0) }
        if fields.contains(.ifMatch) {
            guard matches(.ifMatch, fields, current, exists, strongly: true) else { return .failed }
        } else if let lastModified, let date = date(.ifUnmodifiedSince, fields, now: now), lastModified > date {
            return .failed
        }
        let isRead = method == .get || method == .head
        if fields.contains(.ifNoneMatch) {
            guard matches(.ifNoneMatch, fields, current, exists, strongly: false) else { return .proceed }
            return isRead ? .notModified : .failed
        }
        if isRead, let lastModified, let date = date(.ifModifiedSince, fields, now: now), lastModified <= date {
            return .notModified
        }
        return .proceed
    }

    /// Whether If-Range lets a Range field apply; true if there is no If-Range.
    ///
    /// A weak tag never holds. A date holds when it is exactly the Last-Modified, and that is a strong validator: at
    /// least one second older than `date` (RFC 9110 §13.1.5, §8.8.2.2).
    ///
    /// - Parameter date: Unix seconds: the Date of the stored response, or the time now for a file.
    public static func ifRangeHolds(
        _ fields: FieldSection, etag: UnsafeRawBufferPointer?, lastModified: Int64?, date: Int64
    ) -> Bool {
        guard fields.contains(.ifRange) else { return true }
        guard fields.count(of: .ifRange) == 1 else { return false }
        return fields.withFirst(.ifRange) { value in
            if value.prefix(3).contains(0x22) {
                guard let presented = EntityTag(value), let current = etag.flatMap({ EntityTag($0) }) else {
                    return false
                }
                return presented.matchesStrongly(current)
            }
            guard let lastModified, let presented = HTTPDate.parse(value, now: date) else { return false }
            return presented == lastModified && lastModified < date
        } ?? false
    }

    private static func matches(
        _ name: FieldName, _ fields: FieldSection, _ current: EntityTag?, _ exists: Bool, strongly: Bool
    ) -> Bool {
        for line in fields.lines where line.name == name {
            let found = fields.withValue(line) { value in
                let tags = EntityTagList(value)
                if tags.isAny { return exists }
                guard exists, let current else { return false }
                for tag in tags where strongly ? tag.matchesStrongly(current) : tag.matchesWeakly(current) {
                    return true
                }
                return false
            }
            if found { return true }
        }
        return false
    }

    private static func date(_ name: FieldName, _ fields: FieldSection, now: Int64) -> Int64? {
        guard fields.count(of: name) == 1 else { return nil }
        return fields.withFirst(name) { HTTPDate.parse($0, now: now) } ?? nil
    }
}
