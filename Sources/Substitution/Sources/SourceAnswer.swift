public import HTTPSemantics

/// What a rule answers a request with: the few forms that all kinds of source have in common.
public enum SourceAnswer: Sendable {
    /// A file below a folder: the folder's absolute path, and the file's path below it in exact bytes.
    ///
    /// The path has no empty segment, no `.`, no `..` and no NUL. Symbolic links are for the one who opens it to
    /// refuse.
    case file(root: String, path: [UInt8])
    /// Bytes that are at hand.
    case content(SourceContent)
    /// Rows of a database, which is asked by threads of its own.
    case database(DatabaseCall)
    /// A page that is made from a template.
    case template(TemplateCall)
    /// One of several answers, each client's next one. Indirect, so that it makes no other answer larger.
    indirect case answers(AnswersInTurn)
    /// The answer of an origin: that of another URL, or of the request's own where it is nil.
    case origin(TargetURI?)
    /// No file can have this path, or no request this URL.
    case refused(RefusalReason)

    /// The answer in words that follow "answers with".
    func words(_ options: RuleOptions) -> String {
        switch self {
        case .file(let root, let path): "the file \(root)/\(String(decoding: path, as: UTF8.self))"
        case .content(let content):
            "\(content.bytes.count) byte\(content.bytes.count == 1 ? "" : "s") of "
                + (options.type?.description ?? content.type)
        case .database(let call): "rows of \(String(decoding: call.path, as: UTF8.self))"
        case .template: "a page from a template"
        case .answers(let answers): "\(answers.count) answers, each client's in turn"
        case .origin(nil): "the origin's answer"
        case .origin(let url?): "the answer of \(url.description)"
        case .refused(let reason): "an error: \(reason)"
        }
    }
}

/// A body that a source has at hand, and what goes with it.
public struct SourceContent: Sendable {
    public var bytes: [UInt8]
    /// The media type, unless the rule sets one.
    public var type: String
    /// The status, unless the rule sets one; the default is 200.
    public var status = 200
    /// The value of Location; the default is none.
    public var location: [UInt8]?
    /// Whether the proxy has worded it, and not the map: then the rule's `type` has no part in it.
    public var isOwnWording = false
}

/// Why a rule can't answer a URL that it matches.
public enum RefusalReason: Error, Sendable, Equatable, CustomStringConvertible {
    case encodedSlash, nulByte, dotSegment, emptySegment
    /// The URL to forward or redirect to is none with the captures filled in.
    case notAURL(TargetError)
    /// A capture brings more into the scheme or the authority of that URL than belongs there.
    case capturedAuthority
    /// The captures leave the host of that URL a dot without a name before it.
    case emptyLabel

    /// Whether it is about a URL to forward or redirect to, and not about a file's path.
    public var isOfURL: Bool {
        switch self {
        case .encodedSlash, .nulByte, .dotSegment, .emptySegment: false
        case .notAURL, .capturedAuthority, .emptyLabel: true
        }
    }

    public var description: String {
        switch self {
        case .encodedSlash: "the path has an encoded slash (%2F) in it, which no file's name can have"
        case .nulByte: "the path has a NUL byte (%00) in it, which no file's name can have"
        case .dotSegment: "the path has '..' in it and could leave the root"
        case .emptySegment: "the path has two slashes in a row, and no file has an empty name"
        case .notAURL(let error): "the URL made with the captures is none: \(error)"
        case .capturedAuthority: "a capture in its host brings more than a host and a port"
        case .emptyLabel: "with the captures its host has a dot without a name before it"
        }
    }
}
