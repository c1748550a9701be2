import Diagnostics
import HTTPSemantics
import YAML

/// Reads the options of a rule or of `defaults`, and reports what is wrong with them.
struct OptionReader {
    let diagnostics: FileDiagnostics

    /// Reads one option.
    func read(_ name: OptionName, _ value: YAMLNode, into given: inout GivenOptions) {
        switch name {
        case .methods: given.methods = methods(value)
        case .query: given.query = query(value)
        case .requestHeaders: given.fieldConditions = fieldConditions(value)
        case .navigation: given.navigation = navigation(value)
        case .status: given.status = status(value)
        case .type: given.type = mediaType(value)
        case .headers: given.headers = FieldChangeReader(diagnostics: diagnostics).read(value)
        case .cors: given.cors = choice(name, value)
        case .delay: given.delay = delay(value)
        case .rate: given.rate = rate(value)
        case .bypass: given.bypass = choice(name, value)
        case .missing: given.missing = choice(name, value)
        case .when: given.when = choice(name, value)
        case .retain: given.retain = retain(value)
        }
    }

    // MARK: Conditions

    private func methods(_ value: YAMLNode) -> MethodSet? {
        guard let elements = value.elements else {
            return refuse("'methods' is a list, as in [GET, HEAD]", value)
        }
        guard !elements.isEmpty else { return refuse("an empty list of methods; this rule could never answer", value) }
        var set = MethodSet()
        for element in elements {
            guard let scalar = element.scalar, !scalar.isNull, scalar.bytes.allSatisfy({ $0.isMember(of: .token) }),
                scalar.count > 0
            else {
                diagnostics.error("a method is a word such as GET", at: element.span)
                continue
            }
            let token = Array(scalar.bytes)
            let capitals = token.map { $0 &- 0x61 < 26 ? $0 & ~0x20 : $0 }
            if capitals != token, Method.named(capitals) != .other {
                diagnostics.error(
                    "methods are case-sensitive; did you mean '\(String(decoding: capitals, as: UTF8.self))'?",
                    at: scalar.span)
            } else if token == [UInt8(ascii: "*")] {
                diagnostics.error(
                    "'*' is no method, and stands for none; name each, as in [GET, HEAD, POST]", at: scalar.span)
            } else if Method.named(token) == .connect {
                diagnostics.error("a CONNECT request has no URL that a rule could answer", at: scalar.span)
            } else {
                set.insert(token)
            }
        }
        return set
    }

    private func query(_ value: YAMLNode) -> QueryCondition? {
        let expected = "'query' is exact, ignore, or a mapping of parameters"
        if let scalar = value.scalar {
            if scalar == "exact" { return .exact }
            if scalar == "ignore" { return .ignore }
            let known = didYouMean(scalar.string, among: ["exact", "ignore"]).map { "; did you mean '\($0)'?" } ?? ""
            return refuse(expected + known, value)
        }
        guard let entries = value.entries else { return refuse(expected, value) }
        guard !entries.isEmpty else { return refuse("a mapping without parameters; write 'ignore'", value) }
        reportDuplicates(value, "the parameter")
        var conditions: [ParameterCondition] = []
        var names: [[UInt8]: YAMLScalar] = [:]
        for entry in entries {
            guard let name = entry.key.scalar, name.count > 0 else {
                diagnostics.error("a parameter's name is text", at: entry.key.span)
                continue
            }
            guard let text = entry.value.scalar, !text.isNull else {
                diagnostics.error(
                    "a parameter's value is one text; \"*\" is any, and \"\" is none", at: span(entry))
                continue
            }
            let condition = ParameterCondition(name: name.bytes, value: text.bytes)
            conditions.append(condition)
            // Names that are written alike were reported.
            if let first = names[condition.name], first.bytes != name.bytes {
                diagnostics.error(
                    "the parameter \(name) is '\(first.string)' percent-encoded, which is on line "
                        + "\(first.span.start.line) already", at: name.span)
            } else {
                names[condition.name] = name
            }
        }
        // The order in the map decides nothing, so equal conditions are shared whatever theirs is.
        return .parameters(conditions.sorted { $0.name.lexicographicallyPrecedes($1.name) })
    }

    private func fieldConditions(_ value: YAMLNode) -> [FieldCondition]? {
        guard let entries = value.entries, !entries.isEmpty else {
            return refuse(
                "'request-headers' is a mapping of field names to values, as in { Accept: \"image/*\" }", value)
        }
        var conditions: [FieldCondition] = []
        for entry in entries {
            guard let name = entry.key.scalar, FieldChangeReader.isName(name) else {
                diagnostics.error("\(FieldChangeReader.described(entry.key)) is no field name", at: entry.key.span)
                continue
            }
            guard let text = entry.value.scalar, !text.isNull else {
                diagnostics.error("a field's value is one text; \"*\" is any", at: span(entry))
                continue
            }
            let lowercased = name.bytes.map(\.asciiLowercased)
            if conditions.contains(where: { $0.name == lowercased }) {
                diagnostics.error("the field \(name) comes twice", at: name.span)
            }
            conditions.append(FieldCondition(name: lowercased, value: WildcardText(text.bytes)))
        }
        return conditions
    }

    private func navigation(_ value: YAMLNode) -> Bool? {
        guard let scalar = value.scalar else { return refuse("'navigation' is true or false", value) }
        if let boolean = scalar.boolValue { return boolean }
        let hint = scalar.isYAML11Boolean ? "; for \(scalar) write true or false" : ""
        return refuse("'navigation' is true or false\(hint)", value)
    }

    // MARK: Reply

    private func status(_ value: YAMLNode) -> Int? {
        guard let number = value.scalar?.intValue, (200...599).contains(number) else {
            return refuse("'status' is a number from 200 to 599", value)
        }
        return number
    }

    private func mediaType(_ value: YAMLNode) -> String? {
        guard let scalar = value.scalar, let type = MediaType(scalar.string) else {
            return refuse("'type' is a media type, as in text/html or image/svg+xml", value)
        }
        return type.description
    }

    private func delay(_ value: YAMLNode) -> Duration? {
        guard let scalar = value.scalar, !scalar.isNull else {
            return refuse("'delay' is a duration, as in 250ms", value)
        }
        do throws(UnitError) {
            return .nanoseconds(try Quantity.duration(scalar.bytes))
        } catch {
            return refuse("'delay': \(error.description)", value)
        }
    }

    private func rate(_ value: YAMLNode) -> Int? {
        guard let scalar = value.scalar, !scalar.isNull else {
            return refuse("'rate' is bytes a second, as in 64KiB/s", value)
        }
        do throws(UnitError) {
            let rate = try Quantity.rate(scalar.bytes)
            guard rate > 0 else { return refuse("'rate': nothing could be sent; leave it out for no limit", value) }
            return rate
        } catch {
            return refuse("'rate': \(error.description)", value)
        }
    }

    // MARK: Behaviour

    private func retain(_ value: YAMLNode) -> RuleOptions.Retain? {
        if let scalar = value.scalar {
            if scalar == "pinned" { return .pinned }
            if let boolean = scalar.boolValue { return boolean ? .whileUnchanged : .never }
            if scalar.isYAML11Boolean {
                return refuse("'retain' is true, pinned or false; for \(scalar) write true or false", value)
            }
        }
        return refuse("'retain' is true, pinned or false", value)
    }

    /// One of the words that an option may have.
    private func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: OptionName, _ value: YAMLNode
    ) -> Choice? {
        let words = Choice.allCases.map(\.rawValue)
        let text = value.scalar?.string
        if let text, let choice = Choice(rawValue: text) { return choice }
        let listed = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        let known = text.flatMap { didYouMean($0, among: words) }.map { "; did you mean '\($0)'?" } ?? ""
        return refuse("'\(name.rawValue)' is \(listed)\(known)", value)
    }

    // MARK: Reporting

    /// Reports an error and gives no value.
    private func refuse<Value>(_ message: String, _ node: YAMLNode) -> Value? {
        diagnostics.error(message, at: node.span)
        return nil
    }

    func reportDuplicates(_ node: YAMLNode, _ noun: String) {
        for (first, repeated) in node.duplicateKeys() {
            diagnostics.error(
                "\(noun) \(repeated) comes twice; it is on line \(first.span.start.line) already", at: repeated.span)
        }
    }

    /// The value's place, or the key's where the value is nothing at all.
    private func span(_ entry: YAMLNode.Entry) -> TextSpan {
        let span = entry.value.span
        return span.start.offset == span.end.offset ? entry.key.span : span
    }
}

extension Method {
    /// The method that a token is.
    static func named(_ token: [UInt8]) -> Method { token.withUnsafeBytes { Method($0) } }
}
