/// Which trust stores are meant.
public enum TrustStoreKind: String, Sendable, CaseIterable {
    /// The system's own, which most command-line programs use.
    case system
    /// The databases of browsers (NSS).
    case nss
}

/// Finds the trust stores of a machine and its user.
public enum TrustStores {
    /// The stores that are there, and those that a program which is installed will look for.
    public static func find(
        _ kinds: Set<TrustStoreKind> = Set(TrustStoreKind.allCases), in surroundings: TrustSurroundings
    ) -> [any TrustStore] {
        var stores: [any TrustStore] = []
        if kinds.contains(.system), let store = SystemStore.find(in: surroundings) { stores.append(store) }
        if kinds.contains(.nss) { stores += SecurityDatabase.find(in: surroundings) }
        return stores
    }
}
