import Database

/// What a rule with a template answers where there is no page.
extension ProxyError {
    /// - Parameter rendering: what is wrong with the template, with the line and a mark below it.
    static func template(_ rendering: String) -> ProxyError {
        let lines = rendering.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var error = ProxyError(
            status: 500, type: "proxy_configuration_error", failure: lines.first ?? "",
            advice: "Mend the template: an edit shows in the next request.")
        error.excerpt = Array(lines.dropFirst())
        return error
    }

    /// - Parameter answer: what the database says in the place of rows.
    static func rows(_ answer: DatabaseAnswer, rule: String) -> ProxyError {
        ProxyError(
            status: answer.status,
            type: answer.status < 500 ? "http_request_error" : "proxy_internal_error",
            failure: "\(rule): \(answer.reason)", advice: "See the template's 'sql' in the map.",
            isRefusal: answer.status < 500)
    }

    static func rowsMissing(_ database: String, rule: String) -> ProxyError {
        ProxyError(
            status: 502, type: "proxy_configuration_error", failure: "\(rule): \(database) does not exist",
            advice: "Make the database, or name a 'seed' that makes it.")
    }

    static func rowsRefused(_ database: String, _ why: String, rule: String) -> ProxyError {
        ProxyError(
            status: 403, type: "http_request_denied", failure: "\(rule): \(database): \(why)",
            advice: "Databases are files below the map's root.", isRefusal: true)
    }

    static func bodyTooLarge(_ limit: Int) -> ProxyError {
        ProxyError(
            status: 413, type: "http_request_error", failure: "The request's body has more than \(limit) bytes.",
            advice: "'limits: { body: … }' of the rule allows more.", isRefusal: true)
    }
}
