import TLSTermination
import TrustStores

/// What became of each trust store, line by line.
struct TrustReport {
    private var lines: [String]
    private(set) var hasFailed = false
    private(set) var hasChanged = false

    init(_ certificate: AuthorityCertificate) {
        lines = [
            certificate.path, "  \(certificate.name), until \(certificate.lastDay), for \(certificate.limits)",
            "  SHA-256 \(certificate.fingerprintText)",
        ]
        if certificate.isLimited { lines.insert("  may sign for \(certificate.permitted)", at: 2) }
    }

    var text: String { lines.joined(separator: "\n") }

    mutating func add(_ store: any TrustStore, _ change: TrustChange, done: String, unchanged: String) {
        switch change {
        case .done:
            hasChanged = true
            lines.append("\(store.owner): \(done): \(store.path)")
        case .unchanged: lines.append("\(store.owner): \(unchanged): \(store.path)")
        case .failed(let problem):
            hasFailed = true
            lines.append("\(store.owner): FAILED: \(store.path): \(problem.reason)")
            if !problem.advice.isEmpty { lines.append("  to do: \(problem.advice)") }
        }
    }

    mutating func note(_ text: String) { lines.append(text) }
}
