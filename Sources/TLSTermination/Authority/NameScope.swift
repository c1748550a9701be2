import SwiftASN1
import X509

/// The hosts that an authority may sign for (RFC 5280 §4.2.1.10, name constraints).
struct NameScope: Sendable {
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
    /// A kind that is not listed at all would be free, so it is excluded as a whole then.
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
