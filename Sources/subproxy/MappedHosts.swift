import Substitution
import TLSTermination

/// The https hosts of a map, as an authority can be limited to them.
struct MappedHosts {
    /// Names stand for all names below them too.
    let hosts: [CertificateHost]

    /// - Throws: ``CommandFailure`` where there are none, or one of them is a pattern without a fixed end.
    init(_ map: SubstitutionMap) throws {
        let intercepted = InterceptedHosts(map)
        guard !intercepted.isEmpty else {
            throw CommandFailure(status: .dataError, message: "the map names no https host to limit the authority to")
        }
        var hosts: [CertificateHost] = []
        for name in intercepted.names + intercepted.patternTexts {
            let labels = name.split(separator: ".", omittingEmptySubsequences: false)
            let fixed = labels.lastIndex { $0.contains("*") }.map { labels[($0 &+ 1)...] } ?? labels[...]
            guard let host = try? CertificateHost(fixed.joined(separator: ".")) else {
                throw CommandFailure(
                    status: .dataError, message: "an authority can't be limited to '\(name)'; name the host in full")
            }
            if !hosts.contains(host) { hosts.append(host) }
        }
        self.hosts = hosts
    }
}
