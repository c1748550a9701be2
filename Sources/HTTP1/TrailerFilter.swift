public import HTTPSemantics

/// Which fields have no place in a trailer section (RFC 9110 §6.5.1).
///
/// Those that frame, route, authenticate or modify a request, that control its handling or a cache, or that say how the
/// content is to be processed would take effect too late, or twice.
public enum TrailerFilter {
    private static let forbidden = FieldNameSet(
        // Framing, routing and the connection
        .contentLength, .transferEncoding, .host, .connection, .keepAlive, .proxyConnection, .te, .trailer, .upgrade,
        .http2Settings, .via,
        // Request modifiers (§10.1, §13, §14)
        .expect, .maxForwards, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
        .accept, .acceptEncoding, .origin, .userAgent, .accessControlRequestHeaders, .accessControlRequestMethod,
        .accessControlRequestPrivateNetwork, .accessControlAllowOrigin,
        // Authentication and state
        .authorization, .proxyAuthenticate, .proxyAuthorization, .proxyAuthenticationInfo, .cookie, .setCookie,
        // Control data of responses and caches
        .age, .cacheControl, .cacheStatus, .date, .expires, .location, .pragma, .proxyStatus, .retryAfter, .vary,
        // Content
        .contentEncoding, .contentLocation, .contentRange, .contentType)

    /// Further names, in lower case, that ``FieldName`` doesn't recognise.
    private static let forbiddenNames: [StaticString] = [
        "www-authenticate", "authentication-info", "warning", "accept-charset", "accept-language", "forwarded",
        "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "strict-transport-security",
    ]

    /// Whether this line of `section` must not be passed on as a trailer.
    public static func isForbidden(_ line: FieldSection.Line, in section: FieldSection) -> Bool {
        if line.name != .other { return forbidden.contains(line.name) }
        return section.withName(line) { name in
            // Content-Digest is made for trailers (RFC 9530 §2); every other Content- field describes what has passed.
            if name.count > 8, name.rebased(0..<8).equalsIgnoringCase("content-") {
                return !name.equalsIgnoringCase("content-digest")
            }
            return forbiddenNames.contains { name.equalsIgnoringCase($0) }
        }
    }
}
