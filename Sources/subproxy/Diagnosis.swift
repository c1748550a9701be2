import TLSTermination
import TrustStores

/// What the doctor has found.
struct Diagnosis {
    private let folder: String
    private let certificate: AuthorityCertificate?
    /// Why the authority can't sign; nil where it can.
    private let problem: String?
    private let refusedHosts: [String]
    private let stores: [(store: any TrustStore, state: TrustState)]
    private let clients: [ClientTrust]

    init(folder: String, stored: AuthorityCertificate?, hosts: [CertificateHost]) throws {
        self.folder = folder
        certificate = stored
        guard let stored else {
            problem = "there is none; \(AuthorityFolder.command("ca install", on: folder)) makes it"
            (refusedHosts, stores, clients) = ([], [], [])
            return
        }
        do throws(AuthorityFailure) {
            _ = try CertificateAuthority.existing(in: folder)
            problem = nil
        } catch {
            problem = "\(error)"
        }
        refusedHosts = hosts.filter { !stored.permits($0) }.map(\.text)
        let surroundings = TrustSurroundings.ofThisProcess
        stores = surroundings.stores().map { ($0, $0.state(of: stored)) }
        clients = ClientExamination(stored, in: surroundings).clients()
    }

    /// Whether the authority can sign for all hosts, and every client that is here trusts it.
    var isGood: Bool {
        problem == nil && refusedHosts.isEmpty
            && clients.allSatisfy { $0.verdict == .trusted || $0.verdict == .missing }
    }

    var text: String {
        var lines = ["authority: \(certificate?.path ?? folder)"]
        if let certificate {
            lines.append("  \(certificate.name), until \(certificate.lastDay), for \(certificate.limits)")
            if certificate.isLimited { lines.append("  may sign for \(certificate.permitted)") }
            lines.append("  SHA-256 \(certificate.fingerprintText)")
        }
        if let problem { lines.append("  can't be used: \(problem)") }
        if !refusedHosts.isEmpty { lines.append("  \(refusal)") }
        if !stores.isEmpty { lines.append("stores:") }
        for (store, state) in stores {
            lines.append("  \(store.owner): \(state.word): \(store.path)")
            if case .unknown(let problem) = state {
                lines += ["    \(problem.reason)", "    to do: \(problem.advice)"]
            }
        }
        if !clients.isEmpty { lines.append("clients:") }
        for client in clients {
            lines.append("  \(client.client): \(client.verdict.rawValue): \(client.detail)")
            if !client.advice.isEmpty { lines.append("    to do: \(client.advice)") }
        }
        lines.append(isGood ? "all is well" : "not all is well")
        return lines.joined(separator: "\n")
    }

    var json: String {
        var object = JSONObjectText()
        object.add("good", isGood)
        var authority = JSONObjectText()
        authority.add("path", certificate?.path)
        authority.add("name", certificate?.name)
        authority.add("fingerprint", certificate?.fingerprintText)
        authority.add("expires", certificate?.lastDay)
        authority.add("limited", certificate?.isLimited ?? false)
        authority.add("problem", problem ?? (refusedHosts.isEmpty ? nil : refusal))
        object.add("authority", authority)
        object.add(
            "stores",
            stores.map { store, state in
                var entry = JSONObjectText()
                entry.add("store", store.owner)
                entry.add("path", store.path)
                entry.add("state", state.word)
                if case .unknown(let problem) = state {
                    entry.add("detail", problem.reason)
                    entry.add("advice", problem.advice)
                } else {
                    entry.add("detail", nil as String?)
                    entry.add(
                        "advice", state == .absent ? "run \(AuthorityFolder.command("ca install", on: folder))" : nil)
                }
                return entry
            })
        object.add(
            "clients",
            clients.map { client in
                var entry = JSONObjectText()
                entry.add("client", client.client)
                entry.add("verdict", client.verdict.rawValue)
                entry.add("detail", client.detail)
                entry.add("advice", client.advice.isEmpty ? nil : client.advice)
                return entry
            })
        return object.text
    }

    private var refusal: String {
        "may not sign for \(refusedHosts.joined(separator: ", ")); to have another made: "
            + AuthorityFolder.command("ca uninstall --delete", on: folder)
    }
}

extension TrustState {
    fileprivate var word: String {
        switch self {
        case .trusted: "trusted"
        case .absent: "absent"
        case .unknown: "unknown"
        }
    }
}
