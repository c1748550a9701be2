import Database
import Diagnostics
import HTTPSemantics
import JSON
import YAML

/// Options that some sources have, and others have no use for.
enum CompanionName: String, CaseIterable, Sendable {
    case resource, tables, keys, columns, writes, seed, origins, sql, result, limits, values
    /// The database of a template's statements.
    case sqlite
    case unknownParameters = "unknown-parameters"
    /// What comes behind the last of several answers.
    case repetition = "repeat"

    /// Those that say something of a database or a template.
    static let ofDatabases = Set(allCases).subtracting([.repetition])
    /// Those that are sources where no other one is.
    static let sources: Set<CompanionName> = [.sqlite]

    /// The sources that have it, for messages.
    var owners: String {
        SourceID.kinds.filter { $0.companions.contains(self) }.map { "'\($0.option)'" }.joined(separator: " and ")
    }
}

/// Reads the options of databases, templates and answers in turn.
struct CompanionReader {
    let diagnostics: FileDiagnostics
    /// The captures that texts may have; nil where they aren't known, as in `defaults`.
    var source: SourceReader?

    /// Reads one option.
    func read(_ name: CompanionName, _ value: YAMLNode, into given: inout GivenOptions) {
        guard name != .repetition else {
            given.repetition = word(value, "'repeat' is last or cycle", RuleOptions.Repetition.allCases)
            return
        }
        var options = given.database ?? DatabaseOptions()
        switch name {
        // What is refused leaves something in its place: the rule isn't told that it lacks it.
        case .resource: options.resource = resource(value) ?? CapturedText(text: "")
        case .tables: options.tables = names(value, "'tables' is a list of names")
        case .keys: options.keys = keys(value)
        case .columns: options.forms = forms(value)
        case .writes: options.writes = word(value, "'writes' is off, memory or file", [.off, .memory, .file])
        case .seed: options.seeds = seeds(value)
        case .origins: options.origins = origins(value)
        case .sql:
            if let source, let entries = value.entries, source.option == SQLiteSource().option {
                // What is in it may be meant for one statement or for several: nothing can be said of that.
                diagnostics.error(
                    "'sql' is one statement here, and 'result' stands beside it; names are for those of a template",
                    at: entries.first?.key.span ?? value.span)
                options.sql = CapturedText(text: "")
            } else if let entries = value.entries {
                options.statements = statements(entries, value)
            } else {
                options.sql = statement(value) ?? CapturedText(text: "")
            }
        case .values: options.values = values(value)
        case .sqlite: options.path = path(value) ?? []
        case .result: options.result = word(value, "'result' is list, one or value", [.list, .one, .value])
        case .limits: options.limits = limits(value)
        case .unknownParameters:
            let choice: UnknownParameters? = word(value, "'unknown-parameters' is error or ignore", [.error, .ignore])
            options.ignoresUnknownParameters = choice.map { $0 == .ignore }
        case .repetition: break
        }
        given.database = options
    }

    private enum UnknownParameters: String { case error, ignore }

    // MARK: Words and lists

    private func word<Choice: RawRepresentable<String>>(
        _ value: YAMLNode, _ expected: String, _ choices: [Choice]
    ) -> Choice? {
        // `off` is a word here, whatever YAML 1.1 made of it.
        guard let text = value.scalar?.string, let choice = Choice(rawValue: text) else {
            let hint = value.scalar.flatMap { didYouMean($0.string, among: choices.map(\.rawValue)) }
            return refuse(expected + (hint.map { "; did you mean '\($0)'?" } ?? ""), value)
        }
        return choice
    }

    /// A list of names, or one name.
    private func names(_ value: YAMLNode, _ expected: String) -> [String]? {
        let nodes = value.elements ?? (value.scalar != nil ? [value] : [])
        guard !nodes.isEmpty else { return refuse(expected, value) }
        var names: [String] = []
        for node in nodes {
            guard let scalar = node.scalar, !scalar.isNull, scalar.count > 0 else {
                diagnostics.error(expected, at: node.span)
                continue
            }
            names.append(scalar.string)
        }
        return names
    }

    private func keys(_ value: YAMLNode) -> [DatabaseRule.Key]? {
        let expected = "'keys' is a mapping of tables to a column or a list of columns, as in { cheap: id }"
        guard let entries = value.entries, !entries.isEmpty else { return refuse(expected, value) }
        OptionReader(diagnostics: diagnostics).reportDuplicates(value, "the table")
        return entries.compactMap { entry in
            guard let table = entry.key.scalar, let columns = names(entry.value, expected) else {
                return refuse(expected, entry.key)
            }
            return DatabaseRule.Key(table: table.string, columns: columns)
        }
    }

    /// The forms that a map can name.
    private enum NamedForm: String, CaseIterable { case json, boolean, text }

    private func forms(_ value: YAMLNode) -> [DatabaseRule.Form]? {
        let expected = "'columns' is a mapping of TABLE.COLUMN to json, boolean or text"
        guard let entries = value.entries else { return refuse(expected, value) }
        OptionReader(diagnostics: diagnostics).reportDuplicates(value, "the column")
        return entries.compactMap { entry in
            guard let name = entry.key.scalar?.string, let dot = name.firstIndex(of: "."), dot != name.startIndex,
                name.index(after: dot) < name.endIndex
            else { return refuse(expected, entry.key) }
            let named: NamedForm? = word(entry.value, expected, NamedForm.allCases)
            guard let form = named.flatMap({ ValueForm(rawValue: $0.rawValue) }) else { return nil }
            return DatabaseRule.Form(
                table: String(name[..<dot]), column: String(name[name.index(after: dot)...]), form: form)
        }
    }

    // MARK: Texts

    private func resource(_ value: YAMLNode) -> CapturedText? {
        guard let scalar = value.scalar, scalar.value == .text, scalar.count > 0 else {
            return refuse("'resource' is TABLE, TABLE/KEY or TABLE/KEY/CHILDREN", value)
        }
        guard let source else { return refuse("'resource' belongs to one rule, and can't be a default", value) }
        do throws(KeyError) {
            let template = try source.template(Array(scalar.bytes)) { "the key has no capture \($0)" }
            return CapturedText(text: scalar.string, template: template)
        } catch {
            diagnostics.error(error.message, at: error.range.map(scalar.span(ofBytes:)) ?? scalar.span)
            return nil
        }
    }

    private func statement(_ value: YAMLNode) -> CapturedText? {
        guard let scalar = value.scalar, !scalar.isNull, scalar.count > 0 else {
            return refuse("'sql' is a statement", value)
        }
        guard let source else { return refuse("'sql' belongs to one rule, and can't be a default", value) }
        let text = StatementText(scalar.string)
        if let problem = text.problem { return refuse(problem, value) }
        for parameter in text.parameters where parameter.hasPrefix("$") {
            let name = String(parameter.dropFirst())
            guard let key = source.key, !key.has(capture: name) else { continue }
            return refuse("the key has no capture \(parameter)", value)
        }
        return CapturedText(text: scalar.string)
    }

    /// Statements by name, whose rows a template gets.
    private func statements(_ entries: [YAMLNode.Entry], _ value: YAMLNode) -> [NamedStatement]? {
        let expected = "'sql' is a mapping of names to statements, or to { sql: …, result: … }"
        OptionReader(diagnostics: diagnostics).reportDuplicates(value, "the statement")
        guard !entries.isEmpty else { return refuse(expected, value) }
        var found: [NamedStatement] = []
        for entry in entries {
            guard let name = entry.key.scalar?.string, !name.isEmpty else { return refuse(expected, entry.key) }
            guard name != "request" else {
                return refuse("no statement may be called 'request', which the proxy adds", entry.key)
            }
            var result: DatabaseRule.Statement.Result?
            var text = entry.value
            if let parts = entry.value.entries {
                var sql: YAMLNode?
                for part in parts {
                    switch part.key.scalar?.string {
                    case "sql": sql = part.value
                    case "result": result = word(part.value, "'result' is list, one or value", [.list, .one, .value])
                    default: return refuse(expected, part.key)
                    }
                }
                guard let sql else { return refuse(expected, entry.value) }
                text = sql
            }
            guard let captured = statement(text) else { continue }
            let made = DatabaseRule.Statement(sql: captured.text, result: result ?? .list)
            guard !made.isWrite else { return refuse("a template's statements read, and this one writes", text) }
            found.append(NamedStatement(name: name, statement: made))
        }
        return found
    }

    private func values(_ value: YAMLNode) -> JSONValue? {
        do throws(YAMLError) {
            let bytes = try value.jsonBytes()
            do throws(JSONError) {
                let values = try JSONReader.value(bytes)
                if case .object(let object) = values, object["request"] != nil {
                    diagnostics.error("no value may be called 'request', which the proxy adds", at: value.span)
                }
                return values
            } catch {
                return refuse("'values': \(error.message)", value)
            }
        } catch {
            diagnostics.error(error)
            return nil
        }
    }

    /// The path of a database beside a template.
    private func path(_ value: YAMLNode) -> [UInt8]? {
        guard let scalar = value.scalar, scalar.value == .text, !scalar.isNull else {
            return refuse("'sqlite' is the path of a database's file", value)
        }
        do throws(KeyError) {
            return try SQLiteSource.path(Array(scalar.bytes))
        } catch {
            diagnostics.error(error.message, at: error.range.map(scalar.span(ofBytes:)) ?? scalar.span)
            return nil
        }
    }

    private func seeds(_ value: YAMLNode) -> [String]? {
        let expected = "'seed' is a file or a list of files: .sql, .json or .csv"
        guard let paths = names(value, expected) else { return nil }
        for path in paths {
            do throws(KeyError) {
                guard !(try FileValue(Array(path.utf8))).isFolder else { return refuse(expected, value) }
            } catch {
                return refuse(error.message, value)
            }
            guard let dot = path.lastIndex(of: "."),
                ["sql", "json", "csv"].contains(String(path[path.index(after: dot)...]).lowercased())
            else { return refuse(expected, value) }
        }
        return paths
    }

    private func origins(_ value: YAMLNode) -> [WebOrigin]? {
        let expected = "'origins' is a list of origins, as in [\"http://localhost:3000\"]"
        guard let names = names(value, expected) else { return nil }
        let origins = names.compactMap { WebOrigin($0) }
        return origins.count == names.count ? origins : refuse(expected, value)
    }

    // MARK: Limits

    private func limits(_ value: YAMLNode) -> DatabaseLimits {
        let expected = "'limits' is a mapping of \(DatabaseLimits.names.joined(separator: ", ")), as in { rows: 1000 }"
        var limits = DatabaseLimits()
        guard let entries = value.entries, !entries.isEmpty else {
            diagnostics.error(expected, at: value.span)
            return limits
        }
        OptionReader(diagnostics: diagnostics).reportDuplicates(value, "the limit")
        for entry in entries {
            guard let scalar = entry.value.scalar, !scalar.isNull else {
                diagnostics.error(expected, at: entry.key.span)
                continue
            }
            do throws(UnitError) {
                switch entry.key.scalar?.string {
                case "rows":
                    guard let rows = scalar.intValue, rows > 0 else {
                        diagnostics.error("'rows' is a number from 1", at: scalar.span)
                        continue
                    }
                    limits.rows = rows
                case "bytes": limits.bytes = try Quantity.size(scalar.bytes)
                case "body": limits.body = try Quantity.size(scalar.bytes)
                case "memory": limits.memory = try Quantity.size(scalar.bytes)
                case "time": limits.time = UInt64(clamping: try Quantity.duration(scalar.bytes))
                case "wait": limits.wait = UInt64(clamping: try Quantity.duration(scalar.bytes))
                case let name:
                    let known =
                        name.flatMap { didYouMean($0, among: DatabaseLimits.names) }
                        .map { "; did you mean '\($0)'?" } ?? ""
                    diagnostics.error("unknown limit '\(name ?? "")'\(known)", at: entry.key.span)
                }
            } catch {
                diagnostics.error("'\(entry.key.scalar?.string ?? "")': \(error.description)", at: scalar.span)
            }
        }
        return limits
    }

    private func refuse<Value>(_ message: String, _ node: YAMLNode) -> Value? {
        diagnostics.error(message, at: source?.span(node) ?? node.span)
        return nil
    }
}
