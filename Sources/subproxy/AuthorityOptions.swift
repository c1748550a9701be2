import ArgumentParser
import TLSTermination
import TrustStores

/// Where the authority is, for all commands below `ca`.
struct AuthorityOptions: ParsableArguments {
    @Option(
        name: .customLong("ca-dir"),
        help: ArgumentHelp(
            "Folder of the certificate authority, as in serve. (default: ~/.local/share/subproxy)",
            valueName: "folder"),
        completion: .directory)
    var folder: String?

    /// The folder.
    func path() throws -> String {
        do {
            return try AuthorityFolder.path(given: folder)
        } catch {
            throw CommandFailure(status: .failure, message: "\(error)")
        }
    }

    /// Opens the authority, and makes it where there is none.
    ///
    /// - Parameter hosts: with a new one, the only hosts that it may sign for; nil for any.
    func open(permitting hosts: [CertificateHost]? = nil) throws -> AuthorityCertificate {
        let folder = try path()
        do {
            return AuthorityCertificate(try CertificateAuthority.open(in: folder, permitting: hosts), in: folder)
        } catch {
            throw CommandFailure(status: .failure, message: "\(error)")
        }
    }

    /// The certificate, whether it can still be used or not; nil where there is none.
    func stored() throws -> AuthorityCertificate? {
        do {
            return try AuthorityCertificate.stored(in: try path())
        } catch let failure as AuthorityFailure {
            throw CommandFailure(status: .failure, message: "\(failure)")
        }
    }
}

/// Which trust stores are meant.
struct TrustStoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only these stores: system, nss (browsers' databases) or both with a comma between. (default: all)",
            valueName: "list"),
        completion: .words(of: TrustStoreKind.self), transform: TrustStoreOptions.kinds)
    var stores: Set<TrustStoreKind>?

    func find(in surroundings: TrustSurroundings) -> [any TrustStore] {
        surroundings.stores(stores ?? Set(TrustStoreKind.allCases))
    }

    private static func kinds(_ text: String) throws -> Set<TrustStoreKind> {
        try Set(text.split(separator: ",", omittingEmptySubsequences: false).map { try OptionValue.choice(String($0)) })
    }
}

extension AuthorityCertificate {
    /// In a few words, whom it may sign for.
    var limits: String { isLimited ? "some hosts only" : "any host" }
}
