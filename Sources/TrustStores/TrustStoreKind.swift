/// Which trust stores are meant.
public enum TrustStoreKind: String, Sendable, CaseIterable {
    /// The system's own, which most command-line programs use.
    case system
    /// The databases of browsers (NSS).
    case nss
}

extension TrustSurroundings {
    /// The trust stores that are there, and those that a program which is installed will look for.
    ///
    /// - Parameter kinds: those that are meant; all of them by default.
    public func stores(_ kinds: Set<TrustStoreKind> = Set(TrustStoreKind.allCases)) -> [any TrustStore] {
        var stores: [any TrustStore] = []
        if kinds.contains(.system), let store = systemStore { stores.append(store) }
        if kinds.contains(.nss) { stores += SecurityDatabase.find(in: self) }
        return stores
    }

    /// The store of the certificates that the system trusts; nil where it is of no known kind.
    var systemStore: (any TrustStore)? {
        if let update = tool("update-ca-certificates"), LocalFiles.isFolder(root + LocalCertificates.folder) {
            return LocalCertificates(surroundings: self, update: update)
        }
        return tool("trust").map { AnchorStore(surroundings: self, trust: $0) }
    }
}
