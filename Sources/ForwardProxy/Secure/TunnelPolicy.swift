import Substitution

/// What the map in force says of tunnels.
struct TunnelPolicy: Sendable {
    /// The ports that the map's rules name, which CONNECT may name too.
    let namedPorts: Set<UInt16>
    /// The hosts whose tunnels are decrypted.
    let intercepted: InterceptedHosts

    init(_ map: SubstitutionMap) {
        namedPorts = Set(map.namedHosts().compactMap(\.port))
        intercepted = InterceptedHosts(map)
    }
}
