import Browser
import ForwardProxy
import HTTPSemantics
import Substitution

/// What a page asked for when it was loaded from what was written, and what of that was missed.
struct OfflineAnswers {
    /// How many requests there were.
    let requests: Int
    let misses: [ReplayReport.Miss]
    let missCount: Int

    /// - Parameters:
    ///   - report: of all that the browser asked for.
    ///   - requests: those that the page has made: of the hosts that Chromium asks by itself the others don't count. Nil
    ///     where they are not known, and all count.
    init(_ report: ReplayReport, requests: [PageRequest]?) {
        let found = report.misses.list
        if let requests {
            let hosts = Set(requests.compactMap { OfflineAnswers.host(of: $0.url) })
            let own = ReplayOptions.ofChromium.map { HostPattern($0) }
            misses = found.filter { miss in
                guard let host = OfflineAnswers.host(of: miss.url), !hosts.contains(host) else { return true }
                return !own.contains { $0.matches(host) }
            }
        } else {
            misses = found
        }
        let others = found.reduce(0) { $0 + $1.count } - misses.reduce(0) { $0 + $1.count }
        missCount = report.missCount - others
        self.requests = ["exact", "tolerant", "nearest"].reduce(missCount) { $0 + report.answers($1) }
    }

    /// The host of a URL, or of the `host:port` of a CONNECT.
    private static func host(of url: String) -> String? {
        let text = url.contains("://") ? String(url.prefix { $0 != "#" }) : "https://\(url)/"
        return (try? TargetURI(text))?.host.lowercased()
    }
}
