public import Archives
public import Basics
import Glibc

/// How exchanges are recorded.
public struct RecorderOptions: Sendable {
    /// What is written.
    public enum Output: Sendable, Equatable {
        /// A recording, by the path of its folder.
        case folder(String)
        case har(String)
        case warc(String, isCompressed: Bool)

        /// The path of the folder or file.
        public var path: String {
            switch self {
            case .folder(let path), .har(let path), .warc(let path, _): path
            }
        }
    }

    public var output: Output
    /// What is taken out before anything is written; nil for nothing. The default is what ``Redaction/standardName``
    /// stands for.
    public var redaction: Redaction? = Redaction(names: [Redaction.standardName])
    /// The most bytes of a response's body, as it came; the default is 256 MiB.
    public var bodyLimit = 256 << 20
    /// Whether JSON is indented in a folder. The default is false.
    public var indentsJSON = false
    /// The program that writes, and its version.
    public var program = "subproxy"
    public var version = ""
    /// Where the last entry of the HAR that is there ends, in bytes: behind it is appended also where another program
    /// has written it. The default is nil, for none, or a HAR of this program.
    public var lastEntryEnd: Int?
    /// Called once, on the writer's thread, when no more can be written.
    public var whenFailed: @Sendable (RecorderFailure) -> Void = { _ in }

    public init(_ output: Output) { self.output = output }
}

/// Why nothing more is recorded.
public enum RecorderFailure: Error, Equatable {
    /// Another recorder writes there.
    case busy
    /// What is there is not in the form in which entries are appended.
    case otherForm
    /// What was written is where it was begun no more: somebody has removed, moved, replaced or cut it.
    case gone
    /// A file can't be made, read or written; the reason.
    case system(String)

    public var message: String {
        switch self {
        case .busy: "another recorder writes it"
        case .otherForm: "it is not in the form in which entries are appended"
        case .gone: "it was removed, moved, replaced or cut while it was recorded"
        case .system(let reason): reason
        }
    }

    /// Why a file could not be opened for one recorder, or locked.
    public init(locking error: SystemError, _ path: String) {
        self = error.code == EWOULDBLOCK ? .busy : .system("\(path): \(error.text)")
    }
}

/// What was recorded.
public struct RecorderSummary: Sendable, Equatable {
    /// Exchanges that were written.
    public var entries = 0
    /// The hosts that they were with.
    public var hosts = 0
    /// The bytes of their responses' bodies, as they came.
    public var bytes = 0
    /// Exchanges that were not written, by the reason: ``ForwardProxy/Unrecorded`` and `not written`.
    public var unrecorded: [String: Int] = [:]
    /// Members of responses' JSON that look like credentials, and were written.
    public var credentials = 0
    /// Tunnels whose bytes were passed on as they are, by `host:port`.
    public var tunnels: [String: Int] = [:]
    /// When the entries of a folder began and were answered, in the order in which they were written.
    public var spans: [RecordingOrder.Span] = []
    /// Why writing has ended before its time; nil where it has not.
    public var failure: RecorderFailure?

    public init() {}
}
