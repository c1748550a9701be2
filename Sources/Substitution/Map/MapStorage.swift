import HTTPSemantics
import Patterns

/// What a loaded map consists of: texts in one arena, rules as records, and what finds them.
struct MapStorage: Sendable {
    /// A map file that was read.
    struct File: Sendable {
        /// The name as its user wrote it.
        var name: String
        /// The last component of its name, by which Cache-Status and the log name it; with folders in front where
        /// several files have the same one.
        var shortName: String
        var absolutePath: String
        /// The folder that its local files are in, absolute.
        var root: String
        /// The same without symbolic links and `..`, by which a file that is named in two ways is known as one.
        var place: String
        /// Whether it was read once, and is no file (``MapStream``); its path is its name then.
        var isStream = false

        init(name: String, absolutePath: String) {
            self.name = name
            self.absolutePath = absolutePath
            shortName = PathText.lastComponent(name)
            root = PathText.folder(of: absolutePath)
            place = root
        }

        init(stream name: String, folder: String) {
            self.name = name
            absolutePath = name
            shortName = name
            root = folder
            place = folder
            isStream = true
        }
    }

    /// The paths of the map files that can change: not what was read once.
    var changeableFiles: [String] { files.filter { !$0.isStream }.map(\.absolutePath) }

    /// Puts folders in front of a short name that several files have, as many as tell them apart.
    mutating func tellFilesApart() {
        let numbers = files.indices.filter { !files[$0].isStream }
        for numbers in Dictionary(grouping: numbers, by: { files[$0].shortName }).values where numbers.count > 1 {
            let paths = numbers.map { files[$0].absolutePath.split(separator: "/") }
            let longest = paths.reduce(0) { max($0, $1.count) }
            var count = 2
            func names() -> [String] { paths.map { $0.suffix(count).joined(separator: "/") } }
            while count < longest, Set(names()).count < numbers.count { count += 1 }
            for (number, name) in zip(numbers, names()) { files[number].shortName = name }
        }
    }

    /// A source's text with captures.
    struct Template: Sendable {
        var template: CaptureTemplate
        /// The text as written.
        var text: String
    }

    /// A pattern and what it wants of the query.
    struct Pattern: Sendable {
        var pattern: URLPattern
        /// The parameters in the pattern's own query, whose stars capture too; nil for a star alone, which asks for
        /// nothing and captures the whole query.
        var parameters: [ParameterCondition?]
    }

    /// A regular expression and the first rule of its key.
    struct Expression: Sendable {
        var expression: LinearExpression
        var record: UInt32
        /// The line of the key, where the first rule of a list stands below it.
        var line: UInt32
    }

    /// The answers of a rule that has several: records that no key leads to.
    struct AnswerList: Sendable {
        /// The number of the first one's record; the others follow it.
        var first: Int
        /// For each answer, how many turns there are up to its last one.
        var ends: [Int]
        /// Whether the rule is one for both schemes.
        var isOfBothSchemes: Bool
        /// Stands for what the rule says, in this process: the same where a reload finds the same rule.
        var identity: UInt64 = 0
    }

    /// A host of `intercept`, and where it stands: `maps/substitutions.yaml:3`.
    struct Intercepted: Sendable {
        var host: String
        var position: String
    }

    /// What decides quickly over most rules' conditions, without a reference to count.
    struct OptionSummary: Sendable {
        enum Query: UInt8 { case exact, ignore, parameters }

        /// A bit for each method that is known.
        var methods: UInt16
        var query: Query
        var hasFieldConditions: Bool

        init(_ options: RuleOptions) {
            methods = options.methods.known
            hasFieldConditions = !options.fieldConditions.isEmpty || options.navigation != nil
            switch options.query {
            case .exact: query = .exact
            case .ignore: query = .ignore
            case .parameters: query = .parameters
            }
        }
    }

    var arena: [UInt8] = []
    var records: ContiguousArray<RuleRecord> = []
    var options: ContiguousArray<RuleOptions> = []
    var summaries: ContiguousArray<OptionSummary> = []
    var files: [File] = []
    var templates: [Template] = []
    var answerLists: [AnswerList] = []
    var patterns: ContiguousArray<Pattern> = []
    var expressions: ContiguousArray<Expression> = []
    /// What finds those that may match, once all files are read.
    var expressionSet = ExpressionSet([])
    var exact = ExactIndex()
    var prefixes = PrefixIndex()
    var authorities = AuthorityIndex()
    var intercepted: [Intercepted] = []
    /// The ports of https URLs that rules forward to, but for those with a capture in their host or port.
    var forwardedPorts: Set<UInt16> = []
    /// In the order in which the files that name them were read.
    var archives: [MapArchive] = []
    /// Of each archive the number of its first entry among those of all. An archive may be one of several maps, its
    /// numbers are the map's.
    var archiveStarts: [Int] = []
    /// How many rules the files have; the two schemes of a `//` key count once.
    var ruleCount = 0

    /// Calls `body` with a stretch of the arena.
    @inline(__always)
    func withText<Result>(_ range: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        arena.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// A stretch of the arena as text.
    func text(_ range: Range<Int>) -> String {
        String(decoding: arena[range], as: UTF8.self)
    }

    /// The key of a rule as it is compared: normalised.
    func key(_ record: RuleRecord) -> String { text(record.keyRange) }

    /// `substitutions.yaml:12`.
    func position(_ record: RuleRecord) -> String {
        files[Int(record.file)].shortName + ":" + String(record.line)
    }
}
