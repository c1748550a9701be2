/// Whether a usual client on this machine would trust a page of a decrypted host.
public struct ClientTrust: Sendable {
    public enum Verdict: String, Sendable {
        case trusted
        case distrusted
        /// It is not installed, or has never been used.
        case missing
        /// It could not be found out.
        case unknown
    }

    public let client: String
    public let verdict: Verdict
    /// Where the client looks, or why it is not known.
    public let detail: String
    /// What to do; empty where nothing is.
    public let advice: String

    init(_ client: String, _ verdict: Verdict, _ detail: String, advice: String = "") {
        self.client = client
        self.verdict = verdict
        self.detail = detail
        self.advice = verdict == .trusted || verdict == .missing ? "" : advice
    }
}
