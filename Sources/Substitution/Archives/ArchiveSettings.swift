import HTTPSemantics
import Patterns

/// How requests find their entries in an archive.
public enum ArchiveMatchMode: String, Sendable, Hashable, CaseIterable {
    /// The same URL, method and body.
    case strict
    /// Also other orders of parameters, cache busters and static files with another query.
    case tolerant
    /// Also the entry of the same path whose query is most alike, and other sizes of an image.
    case nearest
}

/// What a URL of an archive gets that has no entry.
public enum ArchiveMissing: String, Sendable, Hashable, CaseIterable {
    case forward
    case notFound = "404"
    case timeout = "504"
    case noContent = "204"
}

/// Whether an archive's answers may be kept by a browser.
public enum ArchiveFreshness: String, Sendable, Hashable, CaseIterable {
    /// No: each is `no-cache`.
    case none
    /// As recorded, moved by the time since.
    case recorded
}

/// What a map says of an archive.
public struct ArchiveSettings: Sendable, Equatable {
    /// Entries that are recorded below the first URL are answered below the second.
    public struct Move: Sendable, Equatable {
        public let from: [UInt8]
        public let to: [UInt8]
    }

    /// The URLs that count; nil for all.
    public internal(set) var urls: ArchiveURLs?
    /// Nil where the map doesn't say: then the command line does, or the archive's format.
    public internal(set) var match: ArchiveMatchMode?
    /// Further cache busters.
    var ignoredParameters: [WildcardText] = []
    public internal(set) var isSequence = true
    public internal(set) var missing: ArchiveMissing?
    /// Where entries are answered (`as`); in normal form, both URLs end in `/`. The first that begins a URL counts:
    /// they are in the order of their lengths, the longest first.
    public internal(set) var moved: [Move] = []
    public internal(set) var freshness = ArchiveFreshness.none
    /// What an archive has of a rule: `bypass`, `when`, `cors`, `headers`, `delay`, `rate`, `retain`.
    var given = GivenOptions()

    public init() {}

    /// The given options as those of a rule.
    var options: RuleOptions {
        var given = given
        given.bypass = given.bypass ?? .never
        given.isBypassOwn = true
        given.methods = .all
        return RuleOptions(given)
    }

    /// The URL that an entry is answered at.
    public func moved(_ url: ArraySlice<UInt8>) -> [UInt8]? {
        move(of: url).map { $0.to + url.dropFirst($0.from.count) }
    }

    /// What says where an entry of this URL is answered; nil where it stays.
    func move(of url: ArraySlice<UInt8>) -> Move? { moved.first { url.starts(with: $0.from) } }
}

/// The URLs that `urls` names: exact ones with every query, folders and patterns.
public struct ArchiveURLs: Sendable, Equatable {
    enum Key: Sendable, Equatable {
        case exact([UInt8])
        case folder([UInt8])
        case pattern(URLPattern)
    }

    var keys: [Key] = []

    /// Whether a URL in normal form, without its query, is one of them.
    func contains(_ path: UnsafeRawBufferPointer) -> Bool {
        keys.contains { key in
            switch key {
            case .exact(let url): url.withUnsafeBytes { URLText.equal($0, path) }
            case .folder(let url): url.withUnsafeBytes { URLText.hasPrefix(path, $0) }
            case .pattern(let pattern):
                {
                    var scratch = MatchScratch()
                    var captures = CaptureList()
                    return pattern.wholeMatch(in: path, scratch: &scratch, captures: &captures)
                }()
            }
        }
    }
}
