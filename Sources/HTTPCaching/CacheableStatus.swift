/// What status codes mean to a cache (RFC 9110 §15, RFC 9111 §3).
enum CacheableStatus {
    /// Whether a response without explicit freshness may be kept and reused (RFC 9110 §15.1).
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Whether a response of this status is ever stored.
    ///
    /// Not stored are, beside interim responses and 304: those that must not be (428, 429, 431 and 511, RFC 6585);
    /// those that speak of one request's credentials, preconditions, range, expectation or connection and not of the
    /// resource (401, 407, 408, 412, 416, 417, 421, 425, 426), which would keep a client from a better request.
    static func isStorable(_ status: Int) -> Bool {
        switch status {
        case 304, 401, 407, 408, 412, 416, 417, 421, 425, 426, 428, 429, 431, 511: false
        default: (200...599).contains(status)
        }
    }

    /// Whether the status is one whose requirements for caches this one knows: the registered ones (RFC 9111 §5.2.2.3).
    static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 200...208, 226, 300...305, 307, 308, 400...418, 421...426, 428, 429, 431, 451, 500...508, 510, 511: true
        default: false
        }
    }
}
