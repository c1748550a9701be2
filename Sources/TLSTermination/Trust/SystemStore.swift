/// Finds the store of the certificates that the system trusts.
enum SystemStore {
    /// The store; nil where it is of no known kind.
    static func find(in surroundings: TrustSurroundings) -> (any TrustStore)? {
        let local = surroundings.root + LocalCertificates.folder
        if let update = surroundings.tool("update-ca-certificates"), LocalFiles.isFolder(local) {
            return LocalCertificates(surroundings: surroundings, update: update)
        }
        if let trust = surroundings.tool("trust") { return AnchorStore(surroundings: surroundings, trust: trust) }
        return nil
    }
}
