/// A URL in which stars stand for any text: `*` within a label or a segment, `**` across segments.
///
/// - In the path `*` matches any text without `/`, and `**` any text. `/**/` also matches a single `/`; what the stars
///   matched is then empty.
/// - In the host `*` matches one byte or more, dots included, so `*.example.com` matches `a.b.example.com` and not
///   `example.com`. A `*` that is the whole host also matches an IPv6 address in brackets.
/// - In the port `*` matches one digit or more. A URL without a port has none to match.
///
/// A pattern matches whole URLs, both given without query and fragment and normalised alike (RFC 3986 §6.2). Each star
/// captures what it matched, the first as much as it can, then the second, and so on. The time of a match is at most
/// in proportion to the stars × the bytes of the URL × the longest literal between two stars.
public struct URLPattern: Sendable, Equatable {
    enum StarKind: Sendable, Equatable {
        /// `*` in the path.
        case segment
        /// `**` in the path.
        case any
        /// `**/` after a slash, where the slash goes with the stars.
        case directories
        case host
        case port
    }

    struct Star: Sendable, Equatable {
        var kind: StarKind
        /// What stands between this star and the next, or the end.
        var literal: [UInt8] = []
        /// The fewest bytes that come after this star's text.
        var tail = 0
    }

    /// How many stars there can be, each a capture.
    public static let maximumStars = ExpressionParser.maximumGroups

    private(set) var stars: [Star] = []
    /// Where the host begins; URLs that match have it at the same place.
    private(set) var hostStart = 0
    private let minimumCount: Int

    /// The bytes before the first star; the whole pattern if it has none.
    public let literalPrefix: [UInt8]

    /// The bytes after the last star; the whole pattern if it has none.
    public var literalSuffix: [UInt8] { stars.last?.literal ?? literalPrefix }

    /// The number of stars, of which each captures; 99 at most.
    public var groupCount: Int { stars.count }

    /// Reads a pattern.
    ///
    /// - Throws: ``PatternError`` with offsets into the UTF-8 form of `pattern`, where it is no URL, or a star stands
    ///   where none can.
    public init(_ pattern: String) throws(PatternError) {
        try self.init(Array(pattern.utf8))
    }

    /// Reads a pattern.
    ///
    /// - Throws: ``PatternError`` where it is no URL, or a star stands where none can.
    public init(_ pattern: [UInt8]) throws(PatternError) {
        var parser = URLPatternParser(pattern)
        try parser.parse()
        literalPrefix = parser.prefix
        hostStart = parser.hostStart
        var tail = 0
        for index in parser.stars.indices.reversed() {
            tail += parser.stars[index].literal.count
            parser.stars[index].tail = tail
            switch parser.stars[index].kind {
            case .host, .port: tail += 1
            case .segment, .any, .directories: break
            }
        }
        minimumCount = parser.prefix.count + tail
        stars = parser.stars
    }

    /// Matches a whole URL and finds what its stars matched. `captures` is empty if it does not match.
    public func wholeMatch(
        in url: UnsafeRawBufferPointer, scratch: inout MatchScratch, captures: inout CaptureList
    ) -> Bool {
        captures.reset(groups: stars.count + 1)
        let input = Span<UInt8>(_unsafeBytes: url)
        scratch.steps = 0
        guard input.count >= minimumCount, literalPrefix.span.equals(input, at: 0),
            literalSuffix.span.equals(input, at: input.count - literalSuffix.count),
            scratch.matchStars(of: self, in: input, captures: &captures)
        else {
            captures.clear()
            return false
        }
        captures.bounds[0] = 0
        captures.bounds[1] = input.count
        return true
    }
}

extension Span<UInt8> {
    /// Whether these bytes stand in `other` at `position`, which is not negative.
    func equals(_ other: Span<UInt8>, at position: Int) -> Bool {
        guard count <= other.count - position else { return false }
        for index in 0..<count where self[index] != other[position + index] { return false }
        return true
    }
}

/// Says what is wrong with an expression, a pattern or a template, and what may be written instead.
///
/// `range` counts bytes from the beginning of the text that was given, for a caret below it. It is never past the end
/// of the text, and may be empty at its end where something is missing.
public struct PatternError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence without a final stop, fit to follow `error: `.
    public let message: String

    /// The bytes at fault.
    public let range: Range<Int>

    public init(_ message: String, at range: Range<Int>) {
        self.message = message
        self.range = range
    }

    public var description: String { "\(range.lowerBound): \(message)" }
}
