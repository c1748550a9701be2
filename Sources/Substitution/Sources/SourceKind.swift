import YAML

/// A kind of source: what a rule's option makes answer, as `file` or `text`.
///
/// A kind has no state. It reads the option's value, says which other options go with it, and answers requests; of a
/// rule it is given the text that it has read. A new kind is a type that conforms to this and a line in
/// ``SourceID/kinds``: nothing else in the map, in the decision, in `check` or in `explain` knows kinds apart.
/// ``TextSource`` is the smallest, and an example to begin with.
protocol SourceKind: Sendable {
    /// The option's name in a map.
    var option: String { get }
    /// What is known of each of its rules before a request comes.
    var traits: SourceTraits { get }
    /// The status of its answers where the map sets none.
    var status: Int { get }
    /// The options that go with this source and hardly another.
    var companions: Set<CompanionName> { get }

    /// The methods that a rule answers which names none.
    func methods(_ given: GivenOptions) -> MethodSet
    /// What a rule wants of the query that doesn't say.
    ///
    /// - Parameter isExact: whether the rule's URL is exact.
    func query(isExact: Bool) -> QueryCondition

    /// Reads the option's value.
    ///
    /// - Returns: the text that a request's answer is made from; nil where the value was refused, and reported.
    func read(_ value: YAMLNode, _ reader: SourceReader) -> RuleBody.Text?
    /// Notes what the value says beside the text.
    func note(_ value: YAMLNode, into given: inout GivenOptions)
    /// What another option of a rule does with this source.
    func effect(of option: OptionName, in given: GivenOptions) -> OptionEffect
    /// Why an option can't stand beside the source of a rule, where it belongs inside of this source's value; nil for
    /// all others.
    func refusal(beside option: YAMLScalar) -> String?
    /// Reports what is missing of a rule's options, and what doesn't go together.
    func check(_ given: GivenOptions, _ reader: SourceReader)
    /// Whether an answer may have the status; asked of those from 200 to 599.
    func accepts(status: Int) -> Bool
    /// Puts right what the defaults of a file can't mean for this source.
    func settle(_ options: inout GivenOptions)
    /// What answers a request.
    func answer(_ request: SourceRequest) -> SourceAnswer
    /// An answer in words that follow "answers with".
    func words(for answer: SourceAnswer, by options: RuleOptions) -> String
}

extension SourceKind {
    var traits: SourceTraits { [] }
    var status: Int { 200 }
    var companions: Set<CompanionName> { [] }
    func methods(_ given: GivenOptions) -> MethodSet { .all }
    func query(isExact: Bool) -> QueryCondition { isExact ? .exact : .ignore }
    func check(_ given: GivenOptions, _ reader: SourceReader) {}
    func note(_ value: YAMLNode, into given: inout GivenOptions) {}
    func effect(of option: OptionName, in given: GivenOptions) -> OptionEffect { usualEffect(of: option) }
    func refusal(beside option: YAMLScalar) -> String? { nil }
    func accepts(status: Int) -> Bool { true }
    func settle(_ options: inout GivenOptions) {}
    func words(for answer: SourceAnswer, by options: RuleOptions) -> String { answer.words(options) }

    /// What most options do with most sources.
    func usualEffect(of option: OptionName) -> OptionEffect {
        switch option {
        case .missing, .retain: .none("; it is for files")
        default: .some
        }
    }
}

/// What is known of a source's answers before a request comes.
struct SourceTraits: OptionSet, Sendable {
    let rawValue: UInt8

    /// The origin is asked, and not this machine.
    static let asksOrigin = SourceTraits(rawValue: 1)
    /// The text is the path of a file or folder below the root, which can be looked for before it is asked for.
    static let namesFile = SourceTraits(rawValue: 2)
    /// The answer depends on the part of the URL that a folder or a pattern leaves open.
    static let dependsOnPath = SourceTraits(rawValue: 4)
    /// The answer depends on more of the request than its URL's path, and is made anew each time.
    static let dependsOnRequest = SourceTraits(rawValue: 8)
    /// The text is no body, but what the map's user wrote, and can be shown.
    static let isShown = SourceTraits(rawValue: 16)
    /// The answer depends on the URL with its query.
    static let dependsOnURL = SourceTraits(rawValue: 32)
}

/// What an option does with a source that it stands beside.
enum OptionEffect: Sendable {
    /// What it says.
    case some
    /// Nothing, which is warned of, with words behind "has no effect with 'file'".
    case none(String)
    /// Nothing, which is warned of in these words.
    case idle(String)
    /// It contradicts the source, which is an error.
    case contradiction(String)
}

/// Which kind of source a rule has; four bits of the rule's record.
struct SourceID: RawRepresentable, Hashable, Sendable {
    let rawValue: UInt8

    /// Every kind of source. The first one is what a mere file name stands for.
    static let kinds: [any SourceKind] = [
        FileSource(), TextSource(), JSONSource(), Base64Source(), ForwardSource(), RedirectSource(), BlockSource(),
        SQLiteSource(), TemplateSource(), AnswersSource(),
    ]
    /// The traits of each kind, by number: they are asked for with each request.
    static let traits = ContiguousArray(kinds.map(\.traits))
    /// The names of the options, in the order of ``kinds``.
    static let options = kinds.map(\.option)

    static let file = SourceID(rawValue: 0)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The kind that an option of a rule names; nil where it names none.
    init?(option: String) {
        guard let index = SourceID.options.firstIndex(of: option) else { return nil }
        rawValue = UInt8(truncatingIfNeeded: index)
    }

    var kind: any SourceKind { SourceID.kinds[Int(rawValue)] }
    var traits: SourceTraits { SourceID.traits[Int(rawValue)] }
}
