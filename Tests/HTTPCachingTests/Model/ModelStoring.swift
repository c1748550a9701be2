/// What the model says of storing a response (RFC 9111 §3).
struct ModelStoring {
    /// Reasons of which one must be given; where there is one the response must not be stored.
    var refusals: Set<String> = []
    /// Reasons for which the response may be refused although the RFC would allow storing it.
    var choices: Set<String> = []
    /// What is kept where it is stored.
    var stored: ModelStored

    static let registered: Set<Int> = [
        200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 300, 301, 302, 303, 305, 307, 308, 400, 401, 402, 403, 404,
        405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 421, 422, 423, 424, 425, 426, 428, 429, 431,
        451, 500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511,
    ]

    init(_ request: ModelRequest, target: String, _ response: ModelResponse, policy: ModelPolicy) {
        let isPartial = response.status == 206
        let part = isPartial ? response.fields.first("content-range").flatMap { ModelPart(contentRange: $0) } : nil
        stored = ModelStored(
            response: response, ages: response.fields.members("age"), request: request,
            isAuthorized: request.fields.has("authorization"), part: part, policy: policy)
        let directives = stored.directives
        let hasExpires = !directives.isTargeted && response.fields.has("expires")
        let isExplicit = directives.has("max-age") || policy.isShared && directives.has("s-maxage") || hasExpires

        switch request.method {
        case "GET": if request.hasContent { refusals.insert("requestContent") }
        case "POST":
            // RFC 9110 §9.3.3: explicit freshness and a Content-Location that is the target.
            let location = response.fields.first("content-location")
            if isPartial || location.flatMap({ ModelInvalidation.resolve($0, target) }) != target {
                refusals.insert("method")
            }
            if ![200, 203].contains(response.status) { choices.insert("method") }
            if !isExplicit { refusals.formUnion(["method", "notExplicit"]) }
        default: refusals.insert("method")
        }
        if request.wishes.noStore { refusals.insert("requestNoStore") }
        storeStatus(response.status, directives)
        if isPartial {
            if part == nil { refusals.insert("partial") }
            // What was not asked for may be anything.
            let asked = request.fields.first("range").flatMap { part?.range(of: $0) }
            if asked == nil { choices.insert("partial") }
        }
        if policy.isShared && directives.isUnlimited("private") { refusals.insert("isPrivate") }
        if policy.isShared && stored.isAuthorized && !directives.allowAuthorized { refusals.insert("authorization") }
        if stored.selecting.keys.contains("*") { refusals.insert("varyAny") }
        if stored.selecting.count > ModelStored.maximumVary { refusals.insert("varyTooLong") }
        let isReusable = isExplicit && stored.lifetime > 0 && !directives.isUnlimited("no-cache")
        if policy.isShared && !isReusable && response.fields.has("set-cookie") {
            // Where Set-Cookie is not among what is kept, or a targeted field speaks, both are right.
            if stored.fields.has("set-cookie") && !directives.isTargeted {
                refusals.insert("setCookie")
            } else {
                choices.insert("setCookie")
            }
        }
        storeExplicitness(response, directives, isExplicit, policy)
    }

    private mutating func storeStatus(_ status: Int, _ directives: ModelDirectives) {
        if status < 200 || status == 304 { refusals.insert("status") }
        // RFC 6585 §3 to §6: these must not be stored.
        if [428, 429, 431, 511].contains(status) { refusals.insert("status") }
        let isUnderstood = ModelStoring.registered.contains(status)
        if directives.has("must-understand") && !isUnderstood { refusals.formUnion(["notUnderstood", "status"]) }
        if directives.has("no-store") && !(directives.has("must-understand") && isUnderstood) {
            refusals.insert("noStore")
        }
        // These answer one request's credentials, precondition or range, or nobody knows what they answer.
        if [401, 407, 408, 412, 416, 417, 421, 425, 426].contains(status) || !isUnderstood { choices.insert("status") }
    }

    /// The last condition of §3, and the cache's own: something speaks of caching, or a heuristic gives a lifetime.
    private mutating func storeExplicitness(
        _ response: ModelResponse, _ directives: ModelDirectives, _ isExplicit: Bool, _ policy: ModelPolicy
    ) {
        let isMarked = directives.has("public") || !policy.isShared && directives.has("private")
        let isHeuristic = ModelStored.heuristicallyCacheable.contains(response.status)
        if !(isExplicit || isMarked || isHeuristic) { refusals.formUnion(["notExplicit", "status"]) }
        guard !isExplicit, stored.lifetime == 0 else { return }
        // Neither fresh nor fit for validation: of no use, so that both are right.
        if stored.etag == nil && stored.lastModified == nil { choices.insert("notExplicit") }
        guard policy.isShared, !isMarked else { return }
        let speaking = ["no-cache", "must-revalidate"]
        if speaking.contains(where: directives.has) { return }
        let whispering = [
            "proxy-revalidate", "must-understand", "private", "immutable", "stale-while-revalidate", "stale-if-error",
        ]
        if whispering.contains(where: directives.has) || directives.isTargeted {
            choices.insert("notExplicit")
        } else {
            refusals.insert("notExplicit")
        }
    }
}
