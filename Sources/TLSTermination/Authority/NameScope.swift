import SwiftASN1
import X509

/// The hosts that a CA may sign for (RFC 5280 §4.2.1.10, name constraints).
struct NameScope: Sendable, CustomStringConvertible {
    private var permittedNames: [String]?
    private var permittedRanges: [[UInt8]]?
    private var excludedNames: [String] = []
    private var excludedRanges: [[UInt8]] = []

    /// Every host.
    init() {}

    /// What a certificate's constraints say of names and addresses; other kinds don't matter to a TLS server.
    init(_ constraints: NameConstraints) {
        for name in constraints.permittedSubtrees {
            switch name {
            case .dnsName(let domain): permittedNames = (permittedNames ?? []) + [domain.lowercased()]
            case .ipAddress(let range): permittedRanges = (permittedRanges ?? []) + [Array(range.bytes)]
            default: continue
            }
        }
        for name in constraints.excludedSubtrees {
            switch name {
            case .dnsName(let domain): excludedNames.append(domain.lowercased())
            case .ipAddress(let range): excludedRanges.append(Array(range.bytes))
            default: continue
            }
        }
    }

    /// Constraints to these names, everything below them, and these addresses.
    ///
    /// A kind without any entry would be unlimited, so it is excluded as a whole then.
    static func constraints(permitting hosts: [CertificateHost]) -> NameConstraints {
        let names = hosts.filter { !$0.isAddress }
        let addresses = hosts.filter(\.isAddress)
        var permitted = names.map { GeneralName.dnsName($0.text) }
        permitted += addresses.map {
            range($0.address + [UInt8](repeating: 0xff, count: $0.address.count))
        }
        var excluded: [GeneralName] = []
        if names.isEmpty { excluded.append(.dnsName("")) }
        if addresses.isEmpty {
            excluded += [8, 32].map { range([UInt8](repeating: 0, count: $0)) }
        }
        return NameConstraints(permittedSubtrees: permitted, excludedSubtrees: excluded)
    }

    func contains(_ host: CertificateHost) -> Bool {
        if host.isAddress {
            guard !excludedRanges.contains(where: { NameScope.isAddress(host.address, in: $0) }) else { return false }
            return permittedRanges?.contains { NameScope.isAddress(host.address, in: $0) } ?? true
        }
        guard !excludedNames.contains(where: { NameScope.isName(host.text, below: $0) }) else { return false }
        return permittedNames?.contains { NameScope.isName(host.text, below: $0) } ?? true
    }

    /// What it holds, in words: `a.test and all names below it, 10.0.0.1`.
    var description: String {
        var parts: [String] = []
        if let permittedNames {
            let all = permittedNames.count == 1 ? "it" : "them"
            parts.append("\(permittedNames.joined(separator: ", ")) and all names below \(all)")
        } else if !excludedNames.contains("") {
            parts.append("any name")
        }
        let wholes = Set([8, 32].map { [UInt8](repeating: 0, count: $0) })
        if let permittedRanges {
            parts += permittedRanges.map(NameScope.text)
        } else if !wholes.isSubset(of: excludedRanges) {
            parts.append("any address")
        }
        let excluded =
            excludedNames.filter { !$0.isEmpty } + excludedRanges.filter { !wholes.contains($0) }.map(NameScope.text)
        let permitted = parts.isEmpty ? "no host" : parts.joined(separator: ", ")
        return excluded.isEmpty ? permitted : "\(permitted), but not \(excluded.joined(separator: ", "))"
    }

    /// An address, and its mask where that leaves more than one.
    private static func text(_ range: [UInt8]) -> String {
        let (address, mask) = (Array(range.prefix(range.count / 2)), Array(range.suffix(range.count / 2)))
        guard [4, 16].contains(address.count), mask.count == address.count else { return "a malformed range" }
        let isOne = mask.allSatisfy { $0 == 0xff }
        return InternetAddress.text(address) + (isOne ? "" : "/\(InternetAddress.text(mask))")
    }

    private static func range(_ bytes: [UInt8]) -> GeneralName {
        .ipAddress(ASN1OctetString(contentBytes: bytes[...]))
    }

    /// Whether a name is the domain or below it; a domain with a leading dot, as some tools write it, is not itself
    /// meant.
    private static func isName(_ name: String, below domain: String) -> Bool {
        if domain.isEmpty || name == domain { return true }
        return name.hasSuffix(domain.hasPrefix(".") ? domain : ".\(domain)")
    }

    /// Whether an address is in a range, which is an address followed by its mask.
    private static func isAddress(_ address: [UInt8], in range: [UInt8]) -> Bool {
        guard range.count == address.count * 2 else { return false }
        return address.indices.allSatisfy { index in
            let mask = range[address.count + index]
            return address[index] & mask == range[index] & mask
        }
    }
}
