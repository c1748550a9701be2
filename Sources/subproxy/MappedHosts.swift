import Substitution
import TLSTermination

/// The https hosts of a map, to which a CA can be limited.
struct MappedHosts {
    /// Names stand for all names below them too.
    let hosts: [CertificateHost]
    /// A line for each host for which the CA would have to sign for a whole top-level domain, with its place in the
    /// map.
    let tooWide: [String]

    /// Top-level domains in which nobody can register a name (RFC 2606, RFC 6761, RFC 6762, and `internal`, which ICANN
    /// has reserved).
    private static let reserved: Set<String> = ["example", "internal", "invalid", "local", "localhost", "test"]

    /// - Parameter areLimits: whether a CA is to be limited to them. Else patterns without a fixed end are passed over.
    /// - Throws: ``CommandFailure`` for limits if there are none, or if one of them is a pattern without a fixed end.
    init(_ map: SubstitutionMap, areLimits: Bool = true) throws {
        let intercepted = InterceptedHosts(map)
        guard !intercepted.isEmpty || !areLimits else {
            throw CommandFailure(status: .dataError, message: "the map names no https host to limit the authority to")
        }
        var hosts: [CertificateHost] = []
        var tooWide: [String] = []
        for name in intercepted.names + intercepted.patternTexts {
            let labels = name.split(separator: ".", omittingEmptySubsequences: false)
            let fixed = labels.lastIndex { $0.contains("*") }.map { labels[($0 &+ 1)...] } ?? labels[...]
            guard let host = try? CertificateHost(fixed.joined(separator: ".")) else {
                guard areLimits else { continue }
                throw CommandFailure(
                    status: .dataError, message: "an authority can't be limited to '\(name)'; name the host in full")
            }
            if !host.isAddress, !host.text.contains("."), !MappedHosts.reserved.contains(host.text) {
                let place = map.positionOfInterception(of: name) ?? "the map"
                tooWide.append("\(place): error: \(MappedHosts.refusal(of: name, domain: host.text))")
            }
            if !hosts.contains(host) { hosts.append(host) }
        }
        self.hosts = hosts
        self.tooWide = tooWide
    }

    private static func refusal(of name: String, domain: String) -> String {
        let all = "the authority would have to sign for every name that ends in '.\(domain)'"
        guard let star = name.lastIndex(of: "*") else { return "for '\(name)' \(all); name the host with its domain" }
        let rest = name[name.index(after: star)...]
        guard !rest.hasPrefix("."), rest.contains(".") else {
            return
                "for '\(name)' \(all); name the hosts in full, or a domain of which all are meant (*.example.\(domain))"
        }
        return "for '\(name)', which matches 'other\(rest)' too, \(all); write '*.\(rest)' and '\(rest)'"
    }
}
