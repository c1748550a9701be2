public import HTTPSemantics

/// What a successful request that changes something makes invalid (RFC 9111 §4.4).
public enum Invalidation {
    /// The URIs whose stored responses are to be removed, of all methods and variants: the target, and Location and
    /// Content-Location where they have the same origin (scheme, host, port) as the target.
    ///
    /// Empty for safe methods, for CONNECT, and where the status is no 2xx or 3xx. A method that is not known is
    /// unsafe.
    public static func targets(method: Method, status: Int, target: TargetURI, fields: FieldSection) -> [TargetURI] {
        guard !method.isSafe, method != .connect, (200..<400).contains(status) else { return [] }
        var targets = [target]
        for name in [FieldName.location, .contentLocation] {
            // Of several lines nobody knows which one is meant.
            guard fields.count(of: name) == 1,
                let other = fields.withFirst(name, { URIReference.resolve($0, against: target) }) ?? nil,
                isSameOrigin(other, target)
            else { continue }
            let key = CacheKey(other)
            if !targets.contains(where: { CacheKey($0) == key }) { targets.append(other) }
        }
        return targets
    }

    /// Whether scheme, host and port are the same (RFC 9110 §4.3.1).
    private static func isSameOrigin(_ one: TargetURI, _ other: TargetURI) -> Bool {
        guard one.port == other.port, one.schemeLength == other.schemeLength else { return false }
        return one.withBytes { bytes in
            other.withBytes { others in
                bytes[0..<one.schemeLength].elementsEqual(others[0..<other.schemeLength])
                    && bytes[one.hostRange].elementsEqual(others[other.hostRange])
            }
        }
    }
}
