/// Why the certificate authority can't be used, and what its owner can do about it.
public struct AuthorityFailure: Error, Sendable, CustomStringConvertible {
    public enum Code: Sendable, Hashable {
        /// No folder is known for it.
        case noFolder
        /// A folder or file can't be made, opened, read or written.
        case system
        /// Others can read the key, or put another in its place.
        case exposed
        /// A file or the folder belongs to another user.
        case foreignOwner
        /// The certificate is there, its key isn't.
        case keyMissing
        /// A file holds no certificate or no private key.
        case malformed
        /// The key is not the certificate's.
        case mismatch
        /// The certificate may not sign others.
        case notAuthority
        case expired
        case notYetValid
        /// The certificate's name constraints exclude the host.
        case hostNotPermitted
        /// The cryptographic library failed.
        case cryptography
    }

    public let code: Code
    /// What is wrong; names the file.
    public let message: String
    /// What to do, as a clause.
    public let advice: String

    /// A failure, for the targets that use the authority's certificate too.
    public init(_ code: Code, _ message: String, advice: String) {
        self.code = code
        self.message = message
        self.advice = advice
    }

    /// One line: the message and the advice.
    public var description: String { advice.isEmpty ? message : "\(message); \(advice)" }
}
