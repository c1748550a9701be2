import Diagnostics
import HTTPSemantics
import Patterns

/// A map while its files are read, one after another.
final class MapBuilder {
    /// A key of the file being read, and its first rule.
    struct Key {
        var record: UInt32
        /// The number of the pattern or expression.
        var compiled: UInt32
        var span: TextSpan
    }

    var storage = MapStorage()
    /// The keys of the file being read, until they are indexed.
    var keys: ContiguousArray<Key> = []
    /// Files' names without a `/` that folders are mapped to: errors unless the disk says that they are folders.
    var folderChecks: [(path: [UInt8], span: TextSpan)] = []
    private var given: [GivenOptions] = []
    private var numbers: [GivenOptions: Int] = [:]
    /// The numbers of the options of a mere file name, by whether the URL is exact.
    private var plainNumbers: (exact: Int?, other: Int?) = (nil, nil)
    /// The first rule of the file being read.
    private(set) var fileStart = 0
    private var fileNumber = 0
    private var finalNumbers: [GivenOptions: Int] = [:]
    /// The lists of answers of the file being read, and the rules that they belong to.
    private var lists: [(list: Int, owner: Int)] = []

    /// Begins another file.
    func begin(_ file: MapStorage.File, sourceCount: Int) {
        fileNumber = storage.files.count
        storage.files.append(file)
        fileStart = storage.records.count
        lists = []
        given = []
        numbers = [:]
        plainNumbers = (nil, nil)
        folderChecks = []
        keys = []
        // Keys and paths together are mostly shorter than the file, and untouched memory costs nothing.
        storage.arena.reserveCapacity(storage.arena.count + sourceCount)
    }

    // MARK: What readers add

    /// Puts a text into the arena.
    func append(_ bytes: some Collection<UInt8>) -> RuleBody.Text {
        let start = storage.arena.count
        storage.arena.append(contentsOf: bytes)
        return .range(start..<storage.arena.count)
    }

    /// Keeps a template; its number.
    func append(_ template: CaptureTemplate, text: String) -> Int {
        storage.templates.append(MapStorage.Template(template: template, text: text))
        return storage.templates.count - 1
    }

    /// The number of options in this file; rules with the same options have the same.
    func number(of options: GivenOptions) -> Int {
        if let number = numbers[options] { return number }
        given.append(options)
        numbers[options] = given.count - 1
        return given.count - 1
    }

    /// The number of the options of a rule that is a file's name alone.
    func fileOptions(isExact: Bool) -> Int {
        if let number = isExact ? plainNumbers.exact : plainNumbers.other { return number }
        var options = GivenOptions()
        options.isExact = isExact
        let number = number(of: options)
        if isExact { plainNumbers.exact = number } else { plainNumbers.other = number }
        return number
    }

    /// Stands for a rule that is refused, in a map that is never made: no default makes it ignore the key's query.
    func refusedRule(_ span: TextSpan) -> RuleBody {
        var options = GivenOptions()
        options.query = .exact
        // As if its file's name had captures: no file is looked for. No map with such a rule ever answers.
        return RuleBody(source: .file, text: .template(0), options: number(of: options), line: span.start.line)
    }

    /// Adds a key with its rules, for both schemes of a `//` key.
    func append(_ key: RuleKey, _ bodies: some Collection<RuleBody>, at span: TextSpan) {
        storage.ruleCount += bodies.count
        append(key, key.text, key.pattern, bodies, at: span, isSecond: false)
        if let second = key.secondText {
            append(key, second, key.secondPattern, bodies, at: span, isSecond: true)
        }
    }

    /// Adds a key with one rule.
    func append(_ key: RuleKey, _ body: RuleBody, at span: TextSpan) {
        append(key, CollectionOfOne(body), at: span)
    }

    private func append(
        _ key: RuleKey, _ text: Range<Int>, _ pattern: URLPattern?, _ bodies: some Collection<RuleBody>,
        at span: TextSpan,
        isSecond: Bool
    ) {
        let first = storage.records.count
        var lists: [(record: Int, answers: [AnswerBody])] = []
        for (offset, body) in bodies.enumerated() {
            var record = RuleRecord(
                key: text, kind: key.kind, source: body.source, text: body.text, options: body.options, line: body.line,
                file: fileNumber)
            if case .answers(let answers) = body.text { lists.append((storage.records.count, answers)) }
            record.isSecondScheme = isSecond
            record.isContinuation = offset > 0
            if offset + 1 < bodies.count { record.next = UInt32(truncatingIfNeeded: storage.records.count + 1) }
            storage.records.append(record)
        }
        for list in lists { append(list.answers, of: list.record, isOfBothSchemes: key.secondText != nil) }
        var compiled = 0
        if let pattern {
            compiled = storage.patterns.count
            storage.patterns.append(MapStorage.Pattern(pattern: pattern, parameters: key.parameters))
        } else if let expression = key.expression {
            compiled = storage.expressions.count
            storage.expressions.append(
                MapStorage.Expression(
                    expression: expression, record: UInt32(truncatingIfNeeded: first),
                    line: UInt32(truncatingIfNeeded: span.start.line)))
        }
        keys.append(
            Key(
                record: UInt32(truncatingIfNeeded: first), compiled: UInt32(truncatingIfNeeded: compiled), span: span))
    }

    /// Adds the answers of a rule, which stand behind all rules of its key: those are linked by their order.
    private func append(_ answers: [AnswerBody], of owner: Int, isOfBothSchemes: Bool) {
        let rule = storage.records[owner]
        let options = given[Int(rule.options)]
        var list = MapStorage.AnswerList(
            first: storage.records.count, ends: [], isOfBothSchemes: isOfBothSchemes)
        for answer in answers {
            // Answers have no answers in them.
            if case .answers = answer.text { continue }
            var record = RuleRecord(
                key: rule.keyRange, kind: rule.kind, source: answer.source, text: answer.text,
                options: number(of: answer.given.over(rule: options)), line: answer.line, file: fileNumber)
            record.isSecondScheme = rule.isSecondScheme
            record.isContinuation = true
            storage.records.append(record)
            list.ends.append((list.ends.last ?? 0) + answer.times)
        }
        storage.records[owner].sourceOffset = UInt32(truncatingIfNeeded: storage.answerLists.count)
        storage.answerLists.append(list)
        lists.append((storage.answerLists.count - 1, owner))
    }

    // MARK: The end of a file

    /// Whether a template of the file gets rows by name, and has no values of its own beside them.
    var hasStatementsAlone: Bool {
        given.contains { $0.database?.statements != nil && $0.database?.values == nil }
    }

    /// Gives the file's rules their options, now that its root and its defaults are known.
    func applyDefaults(_ defaults: GivenOptions) {
        let merged = given.map { $0.over(defaults) }
        for (list, owner) in lists { storage.answerLists[list].identity = identity(of: list, owner, merged) }
        lists = []
        let final = merged.map(finalNumber)
        for index in fileStart..<storage.records.count {
            storage.records[index].options = UInt32(truncatingIfNeeded: final[Int(storage.records[index].options)])
        }
    }

    /// Stands for all that a rule with several answers says, in this process.
    private func identity(of list: Int, _ owner: Int, _ options: [GivenOptions]) -> UInt64 {
        var hasher = Hasher()
        let file = storage.files[fileNumber]
        hasher.combine(file.absolutePath)
        hasher.combine(file.root)
        let list = storage.answerLists[list]
        let rule = storage.records[owner]
        hasher.combine(list.isOfBothSchemes)
        storage.withText(rule.keyRange) { key in
            let scheme = list.isOfBothSchemes ? key.firstIndex(of: UInt8(ascii: ":")) ?? 0 : 0
            hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: key[scheme...]))
        }
        hasher.combine(options[Int(rule.options)])
        hasher.combine(list.ends)
        for record in storage.records[list.first..<list.first + list.ends.count] {
            hasher.combine(record.source)
            hasher.combine(options[Int(record.options)])
            if record.isTemplate {
                hasher.combine(Array(storage.templates[Int(record.sourceOffset)].text.utf8))
            } else {
                hasher.combine(storage.arena[record.sourceRange])
            }
        }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    private func finalNumber(_ options: GivenOptions) -> Int {
        if let number = finalNumbers[options] { return number }
        let number = storage.options.count
        let shared = RuleOptions(options)
        storage.options.append(shared)
        storage.summaries.append(MapStorage.OptionSummary(shared))
        finalNumbers[options] = number
        return number
    }
}
