import TLSTermination

extension AuthorityCertificate {
    /// In a few words, whom it may sign for.
    var limits: String { isLimited ? "some hosts only" : "any host" }
}
