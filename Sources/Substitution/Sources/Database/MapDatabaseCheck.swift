import Basics
import Database
import Diagnostics
import Files

extension SubstitutionMap {
    /// Looks whether the databases that rules name have what the rules say of them; they are opened for reading, and
    /// nothing is left behind. Blocks.
    ///
    /// - Parameter limit: How many messages are made at most. The default is 1000.
    public func checkDatabases(limit: Int = 1000) -> [MapDiagnostic] {
        var check = MapDatabaseCheck(self, limit: limit)
        for (index, record) in storage.records.enumerated() {
            guard !record.isSecondScheme, let settings = storage.options[Int(record.options)].database,
                let path = storage.databasePath(record)
            else { continue }
            check.look(at: index, record, path, settings)
        }
        return check.diagnostics
    }
}

/// Looks at the databases of a map, at each once.
private struct MapDatabaseCheck {
    private struct Place: Hashable {
        @ByBytes var root: String
        let path: [UInt8]
    }

    /// A rule's options, which others with the same database may share.
    private struct Use: Hashable {
        let place: Place
        let options: UInt32
    }

    private let map: SubstitutionMap
    private let limit: Int
    private var excerpts: RuleExcerpts
    private var checks: [Place: DatabaseCheck?] = [:]
    private var seen: Set<Use> = []
    private(set) var diagnostics: [MapDiagnostic] = []

    init(_ map: SubstitutionMap, limit: Int) {
        self.map = map
        self.limit = limit
        excerpts = RuleExcerpts(map)
    }

    mutating func look(at index: Int, _ record: RuleRecord, _ path: [UInt8], _ settings: DatabaseSettings) {
        guard diagnostics.count < limit else { return }
        let place = Place(root: map.storage.files[Int(record.file)].root, path: path)
        guard seen.insert(Use(place: place, options: record.options)).inserted else { return }
        let check: DatabaseCheck?
        if let known = checks[place] {
            check = known
        } else {
            check = open(place, index)
            checks[place] = .some(check)
            for finding in check?.findings(settings.rule.limits) ?? [] { report(finding, index) }
        }
        for finding in check?.findings(settings.rule, statements: settings.statements) ?? [] { report(finding, index) }
    }

    /// Finds the database and reads its seeds; nil where there is nothing to look at.
    private mutating func open(_ place: Place, _ index: Int) -> DatabaseCheck? {
        let folder = FolderRoot(path: place.root)
        let path = String(decoding: place.path, as: UTF8.self)
        let shown = PathText.joined(place.root, path)
        let plan = map.databasePlan(at: map.databasePlace(root: place.root, path: place.path))
        let seedFolder = FolderRoot(path: plan.seedRoot)
        var seeds: [SeedFile] = []
        var seedsAreRead = true
        for seed in plan.seeds {
            do throws(FileRefusal) {
                seeds.append(SeedFile(name: seed, bytes: try seedFolder.contents(of: Array(seed.utf8), upTo: 1 << 30)))
            } catch {
                seedsAreRead = false
                report(.error, "the seed '\(seed)' can't be read: \(error)", of: seed, nil, index)
            }
        }
        var exists = true
        do throws(FileRefusal) { _ = try folder.identity(of: place.path) } catch {
            guard error == .notFound else {
                report(.error, "the database '\(shown)' can't be used: \(error)", of: nil, nil, index)
                return nil
            }
            exists = false
            if plan.seeds.isEmpty {
                report(.warning, "the database '\(shown)' does not exist, and no 'seed' makes it", of: nil, nil, index)
                return nil
            }
        }
        guard exists || seedsAreRead else { return nil }
        // The folder that the file would be in may be missing too.
        let found = try? folder.location(of: place.path)
        guard let location = found ?? (exists ? nil : folder.path + "/" + path) else { return nil }
        return DatabaseCheck(
            path: location, exists: exists, name: PathText.lastComponent(path), seeds: seedsAreRead ? seeds : [])
    }

    private mutating func report(_ finding: DatabaseCheck.Finding, _ index: Int) {
        guard let diagnostic = finding.diagnostic else {
            return report(finding.isError ? .error : .warning, finding.message, of: finding.text, finding.offset, index)
        }
        diagnostics.append(MapDiagnostic(diagnostic, source: diagnostic.span == nil ? nil : finding.source))
    }

    /// - Parameters:
    ///   - text: the part of the rule's text that it is about; nil for the database's path.
    ///   - offset: where in that text, in bytes.
    private mutating func report(
        _ severity: Diagnostic.Severity, _ message: String, of text: String?, _ offset: Int?, _ index: Int
    ) {
        var message = message
        var place: (span: TextSpan, text: [UInt8]?)
        // A template's rule names its database in another place than its source.
        if let text = text ?? map.storage.pathBesideSource(index) {
            let found = excerpts.place(of: Array(text.utf8), from: offset, in: index)
            place = found.isFound ? found.place : excerpts.place(ofSource: index)
            if !found.isFound, let offset { message += " (at byte \(offset + 1) of the statement)" }
        } else {
            place = excerpts.place(ofSource: index)
        }
        let file = map.storage.files[Int(map.storage.records[index].file)].name
        diagnostics.append(
            MapDiagnostic(Diagnostic(severity, message, file: file, span: place.span), source: place.text))
    }
}
