/// What a rule's key is, which decides how it is found.
public enum RuleKind: UInt8, Sendable, Equatable {
    /// One URL.
    case exact
    /// A URL that ends in `/`: everything below it.
    case folder
    /// A URL with stars.
    case pattern
    /// A regular expression over the whole URL.
    case expression

    /// The word for it in messages.
    public var name: String {
        switch self {
        case .exact: "exact URL"
        case .folder: "folder"
        case .pattern: "pattern"
        case .expression: "regular expression"
        }
    }
}

/// A rule in 32 bytes; texts are ranges of the map's arena.
struct RuleRecord: Sendable {
    static let none = UInt32.max

    /// The key: the normalised URL, or the pattern's or expression's text.
    var keyOffset: UInt32
    var keyLength: UInt32
    /// The source's text: a file's path, a body, a URL. For a text with captures, the number of its template; for
    /// several answers, the number of their list.
    var sourceOffset: UInt32
    var sourceLength: UInt32
    /// The number of its options.
    var options: UInt32
    var line: UInt32
    /// The next rule to try when this one's conditions do not hold.
    var next: UInt32 = RuleRecord.none
    /// The number of the map file.
    var file: UInt16
    var kind: RuleKind
    private var sourceAndFlags: UInt8

    /// A record of a rule or an answer as it was read. Where it has several answers, the number of their list is set
    /// later.
    init(
        key: Range<Int>, kind: RuleKind, source: SourceID, text: RuleBody.Text, options: Int, line: Int, file: Int
    ) {
        keyOffset = UInt32(truncatingIfNeeded: key.lowerBound)
        keyLength = UInt32(truncatingIfNeeded: key.count)
        sourceOffset = 0
        sourceLength = 0
        self.options = UInt32(truncatingIfNeeded: options)
        self.line = UInt32(truncatingIfNeeded: line)
        self.file = UInt16(truncatingIfNeeded: file)
        self.kind = kind
        sourceAndFlags = source.rawValue
        switch text {
        case .range(let range): sourceRange = range
        case .template(let number):
            isTemplate = true
            sourceOffset = UInt32(truncatingIfNeeded: number)
        case .answers: break
        }
    }

    @inline(__always)
    var keyRange: Range<Int> { Int(keyOffset)..<Int(keyOffset) &+ Int(keyLength) }
    var sourceRange: Range<Int> {
        get { Int(sourceOffset)..<Int(sourceOffset) &+ Int(sourceLength) }
        set {
            sourceOffset = UInt32(truncatingIfNeeded: newValue.lowerBound)
            sourceLength = UInt32(truncatingIfNeeded: newValue.count)
        }
    }

    @inline(__always)
    var source: SourceID { SourceID(rawValue: sourceAndFlags & 15) }

    /// Whether the source has captures or a pattern's, so that `sourceOffset` is the number of a template.
    var isTemplate: Bool {
        get { sourceAndFlags & 16 != 0 }
        set { set(16, newValue) }
    }

    /// Whether the rule stands for the second scheme of a `//` key, so that it is not counted.
    var isSecondScheme: Bool {
        get { sourceAndFlags & 32 != 0 }
        set { set(32, newValue) }
    }

    /// Whether an exact rule is found by its path alone: it has no query, or its conditions look at the query.
    @inline(__always)
    var isFoundByPath: Bool {
        get { sourceAndFlags & 64 != 0 }
        set { set(64, newValue) }
    }

    /// Whether it follows another rule in the list that its key has, or is one of a rule's answers.
    var isContinuation: Bool {
        get { sourceAndFlags & 128 != 0 }
        set { set(128, newValue) }
    }

    private mutating func set(_ bit: UInt8, _ value: Bool) {
        sourceAndFlags = value ? sourceAndFlags | bit : sourceAndFlags & ~bit
    }
}
