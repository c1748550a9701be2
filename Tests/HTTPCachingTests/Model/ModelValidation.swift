import HTTPSemantics

/// What the model says of validation (RFC 9111 §4.3).
enum ModelValidation {
    /// Fields that a 304 does not change (RFC 9111 §3.2).
    static let unchanging: Set<String> = [
        "content-length", "content-range", "transfer-encoding",
    ]

    static func clientTags(_ request: ModelRequest) -> [String] {
        ModelText.entityTags(request.fields.values("if-none-match"))
    }

    /// What a 304 may mean: `freshened`, `forClient` or `mismatch` (RFC 9111 §4.3.3, §4.3.4).
    static func outcomes(_ stored: ModelStored, _ response: ModelResponse, _ request: ModelRequest) -> Set<String> {
        let held = stored.etag.flatMap(ModelText.opaque)
        let asked = Set(clientTags(request).compactMap(ModelText.opaque))
        // The client's own date or `*` may be what was answered, or its tags where nothing was added to them.
        let isUnvalidated = stored.etag == nil && stored.lastModified == nil
        let isForClient =
            asked.isEmpty && (request.fields.has("if-modified-since") || request.fields.has("if-none-match"))
            || isUnvalidated && !asked.isEmpty
        if let tag = response.fields.first("etag"), let opaque = ModelText.opaque(tag) {
            let isStoredOne =
                ModelText.isStrong(tag) ? tag == stored.etag : opaque == held && held != nil
            if isStoredOne { return ["freshened"] }
            let modified = ModelText.date(response.fields.first("last-modified"), now: response.receivedAt.wall)
            if stored.etag == nil, modified != nil, modified == stored.lastModified { return ["freshened"] }
            if asked.contains(opaque) { return ["forClient"] }
            return isForClient ? ["forClient", "mismatch"] : ["mismatch"]
        }
        // Of a response with a date alone the date alone is asked about.
        let isDateAlone = stored.etag == nil && stored.lastModified != nil
        let othersAsked = !isDateAlone && !asked.subtracting(held.map { [$0] } ?? []).isEmpty
        let now = response.receivedAt.wall
        if let modified = ModelText.date(response.fields.first("last-modified"), now: now) {
            if modified == stored.lastModified { return othersAsked ? ["freshened", "forClient"] : ["freshened"] }
            return othersAsked || isForClient ? ["forClient", "mismatch"] : ["mismatch"]
        }
        // Without validators it is the stored response that was asked about, where nothing else was.
        if othersAsked { return ["forClient", "mismatch"] }
        if isUnvalidated {
            // Nothing identifies it but that it is the only one (RFC 9111 §4.3.4); a cache may be more careful.
            return isForClient ? ["freshened", "forClient"] : ["freshened", "forClient", "mismatch"]
        }
        return ["freshened"]
    }

    /// The stored response with the fields of `response` in place of its own (RFC 9111 §3.2).
    static func updated(
        _ stored: ModelStored, by response: ModelResponse, request: ModelRequest, policy: ModelPolicy
    ) -> ModelStored {
        let its = ModelDirectives(response: response.fields, policy: policy)
        // A message without directives of its own leaves the stored ones as they are.
        let hasOwn = its.isTargeted || response.fields.has("cache-control")
        let isExplicit =
            its.has("max-age") || policy.isShared && its.has("s-maxage")
            || !its.isTargeted && response.fields.has("expires")
        let its304 = ModelStored(
            response: response, ages: response.fields.members("age"), request: request, isAuthorized: false, part: nil,
            policy: policy)
        let takesCookies = !policy.isShared || isExplicit && its304.lifetime > 0 && !its.isUnlimited("no-cache")
        var news = ModelStored.kept(response.fields, its.unstoredFields(policy), receivedAt: response.receivedAt)
        // What the content can't be read without: only from who speaks of just this content.
        let isSameContent = response.fields.first("etag").map { ModelText.isStrong($0) && $0 == stored.etag } ?? false
        news.removeAll { unchanging.contains($0.name.lowercased()) }
        news.removeAll { !isSameContent && $0.name.lowercased() == "content-encoding" }
        // A cookie that is not taken is somebody else's than the one that is held, which is not to come in its place.
        let replaced = Set(news.map { $0.name.lowercased() })
        if !takesCookies { news.removeAll { $0.name.lowercased() == "set-cookie" } }
        // What the newer message names is not kept, whichever directives count in the end.
        let unstored = its.unstoredFields(policy)
        var merged = response
        merged.status = stored.status
        merged.fields = stored.fields.filter { field in
            let name = field.name.lowercased()
            return !replaced.contains(name) && !unstored.contains(name)
        }
        merged.fields += news
        var result = ModelStored(
            response: merged, ages: response.fields.members("age"), request: request,
            isAuthorized: stored.isAuthorized || request.fields.has("authorization"), part: stored.part,
            directives: hasOwn ? nil : stored.directives,
            policy: policy)
        let isGiven = ["sMaxAge", "maxAge", "expires"].contains(result.lifetimeSource) && result.lifetime > 0
        if policy.isShared && (!isGiven || result.directives.isUnlimited("no-cache")) {
            result.fields.removeAll { $0.name.lowercased() == "set-cookie" }
        }
        return result
    }

    /// Whether a 304 ends the leave to share what was stored for a request with Authorization (RFC 9111 §3.5).
    static func endsSharing(_ stored: ModelStored, _ response: ModelResponse, _ policy: ModelPolicy) -> Bool {
        guard policy.isShared, stored.isAuthorized else { return false }
        let its = ModelDirectives(response: response.fields, policy: policy)
        let hasOwn = its.isTargeted || response.fields.has("cache-control")
        return !(hasOwn ? its : stored.directives).allowAuthorized
    }

    /// Whether anything of a response may go to others than the one that asked (RFC 9111 §3.5, §5.2.1.5).
    static func isForOthers(_ response: ModelResponse, _ request: ModelRequest, _ policy: ModelPolicy) -> Bool {
        if request.wishes.noStore { return false }
        guard policy.isShared && request.fields.has("authorization") else { return true }
        return ModelDirectives(response: response.fields, policy: policy).allowAuthorized
    }

    /// Whether a 200 to HEAD fits a stored response of `size` bytes (RFC 9111 §4.3.5); nil where both are right.
    static func headFits(_ stored: ModelStored, size: Int, _ response: ModelResponse, _ policy: ModelPolicy) -> Bool? {
        let its = ModelDirectives(response: response.fields, policy: policy)
        // What must not be stored must not be used for what is stored (RFC 9111 §5.2.2.5, §5.2.2.7).
        if its.has("no-store") && !its.has("must-understand") { return false }
        if policy.isShared && its.isUnlimited("private") { return false }
        // A HEAD's 200 is nothing that a stored 404 could have been.
        if stored.status != response.status && stored.part == nil { return false }
        if let tag = response.fields.first("etag"), tag != stored.etag {
            let isSameWeakly = stored.etag.flatMap(ModelText.opaque) == ModelText.opaque(tag)
            return isSameWeakly ? nil : false
        }
        if let text = response.fields.first("last-modified"),
            let modified = ModelText.date(text, now: response.receivedAt.wall), modified != stored.lastModified
        {
            return false
        }
        guard let length = response.fields.first("content-length") else { return true }
        if let part = stored.part { return part.completeLength.map { String($0) == length } }
        return length == String(size)
    }
}

/// The URIs that a response to an unsafe method invalidates (RFC 9111 §4.4).
enum ModelInvalidation {
    static func targets(method: String, status: Int, target: String, fields: [ModelField]) -> Set<String> {
        guard !["GET", "HEAD", "OPTIONS", "TRACE"].contains(method), (200...399).contains(status) else { return [] }
        var targets: Set<String> = [target]
        for name in ["location", "content-location"] {
            for reference in fields.values(name) {
                guard let uri = resolve(reference, target), origin(uri) == origin(target) else { continue }
                targets.insert(uri)
            }
        }
        return targets
    }

    static func origin(_ uri: String) -> String { uri.split(separator: "/").prefix(2).joined(separator: "//") }

    /// Resolves a reference against a URI with authority (RFC 3986 §5.2) for the forms that the generator writes.
    static func resolve(_ reference: String, _ base: String) -> String? {
        let reference = String(reference.split(separator: "#", omittingEmptySubsequences: false)[0])
        let baseOrigin = origin(base)
        let basePath = String(base.dropFirst(baseOrigin.count).split(separator: "?")[0])
        let scheme = String(base.split(separator: ":")[0])
        if reference.isEmpty { return base }
        if reference.contains("://") { return normalised(reference) }
        if reference.hasPrefix("//") { return normalised("\(scheme):\(reference)") }
        if reference.hasPrefix("/") { return normalised(baseOrigin + reference) }
        if reference.hasPrefix("?") { return normalised(baseOrigin + basePath + reference) }
        let directory = basePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(
            separator: "/")
        return normalised("\(baseOrigin)\(directory)/\(reference)")
    }

    /// Scheme and host in lower case, no default port, no dot segments.
    static func normalised(_ uri: String) -> String? {
        var origin = origin(uri).lowercased()
        let rest = String(uri.dropFirst(origin.count))
        if origin.hasPrefix("http:"), origin.hasSuffix(":80") { origin.removeLast(3) }
        if origin.hasPrefix("https:"), origin.hasSuffix(":443") { origin.removeLast(4) }
        let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        var segments: [String] = []
        let given = (parts.first ?? "").split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (index, segment) in given.enumerated() {
            let isLast = index == given.count - 1
            switch segment {
            case ".": if isLast { segments.append("") }
            case "..":
                _ = segments.popLast()
                if isLast { segments.append("") }
            default: segments.append(String(segment))
            }
        }
        return origin + "/" + segments.joined(separator: "/") + (parts.count > 1 ? "?\(parts[1])" : "")
    }
}
