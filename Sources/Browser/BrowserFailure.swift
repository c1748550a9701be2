/// Why a browser can't do what it should.
public struct BrowserFailure: Error, Sendable, Hashable {
    /// What kind of failure it is, for the exit status.
    public enum Kind: Sendable, Hashable {
        /// There is no browser, no display, or it may not be run as this user.
        case unavailable
        /// It could not be started, or ended before it should.
        case ended
        /// The page did not load: nothing was reached, or its certificate is wrong.
        case notLoaded
        /// What should happen did not in time.
        case timedOut
        /// ``BrowserInterruption/interrupt()`` was called.
        case interrupted
        /// The browser refuses a command, or its answer is not understood.
        case misunderstood
        /// A folder or file can't be made.
        case files
        /// Something that was given is not what it should be: a selector, a cookie.
        case unusable
    }

    public let kind: Kind
    /// One line without a capital and a full stop.
    public let message: String

    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}
