import Basics
import Patterns
import YAML

/// The rules of one or several map files, immutable, with the indexes that find them.
///
/// A reload makes another map; requests under way keep the one that they began with.
public final class SubstitutionMap: Sendable {
    let storage: MapStorage
    let fileSystem: MapFileSystem
    let limits: YAMLLimits
    /// What was noticed that keeps no map from loading.
    public let warnings: [MapDiagnostic]
    /// Whether there are rules with conditions on fields, so that a URL and a method may not be all that a look-up's
    /// result depends on.
    public let dependsOnFields: Bool
    /// Which fields those are, by the rules whose answers depend on them.
    let conditionFields: ConditionFields

    init(_ storage: MapStorage, warnings: [MapDiagnostic], fileSystem: MapFileSystem, limits: YAMLLimits) {
        self.storage = storage
        conditionFields = ConditionFields(storage)
        dependsOnFields = !conditionFields.all.isEmpty
        self.warnings = warnings
        self.fileSystem = fileSystem
        self.limits = limits
    }

    /// Loads map files and those that they include.
    ///
    /// All errors of all files are found; a single one keeps the whole map from loading.
    ///
    /// - Parameter files: The files as their user names them; rules of those named first come first.
    public static func load(files: [String], options: MapLoadOptions = MapLoadOptions()) -> MapLoadResult {
        var loader = MapLoader(options)
        return loader.load(files)
    }

    /// Loads a map from its text, as the file `name` of a file system that has no other.
    public static func load(text: String, name: String = "substitutions.yaml") -> MapLoadResult {
        load(files: [name], options: MapLoadOptions(fileSystem: .only(name, text)))
    }

    /// A map without rules.
    public static let empty = SubstitutionMap(
        MapStorage(), warnings: [], fileSystem: .system, limits: YAMLLimits())

    /// How many rules the files have; each rule of a list counts, a key for both schemes once.
    public var ruleCount: Int { storage.ruleCount }

    /// How many map files were read.
    public var fileCount: Int { storage.files.count }

    /// The map files that were read, as absolute paths.
    public var files: [String] { storage.files.map(\.absolutePath) }

    /// Those of ``files`` that can change: not what was read once.
    public var changeableFiles: [String] {
        storage.changeableFiles + storage.archives.filter { !$0.isStream }.map(\.path)
    }

    /// The files whose change asks for a reload: ``changeableFiles``, and those beside a HAR that have its bodies.
    public var watchedFiles: [String] { changeableFiles + storage.archives.flatMap(\.siblingFiles) }

    /// The names of the maps and archives that were read once, as standard input or a pipe (``MapStream``).
    public var streams: [String] {
        storage.files.filter(\.isStream).map(\.name) + storage.archives.filter(\.isStream).map(\.path)
    }

    /// The folders that local files are in, as absolute paths, each once.
    public var roots: [String] {
        var seen: Set<ByBytes<String>> = []
        return storage.files.map(\.root).filter { seen.insert(ByBytes($0)).inserted }
    }

    /// The hosts to decrypt beside those that https rules name, in lower case, with stars, in the order of the files.
    public var interceptPatterns: [String] { storage.intercepted.map(\.host) }

    /// The ports of https URLs that rules forward to, but for those with a capture in their host or port.
    public var forwardedPorts: Set<UInt16> { storage.forwardedPorts }

    /// One more than the highest number of a rule: how long a table by rules has to be.
    public var ruleIDCount: Int { storage.records.count }

    /// All rules, in the order of the files; a key for both schemes has its rules twice.
    public var rules: some Sequence<Rule> {
        storage.records.indices.lazy.map { Rule(self, RuleID(UInt32(truncatingIfNeeded: $0))) }
    }

    /// The names of all fields that rules have conditions on, each once.
    public var conditionFieldNames: [String] { conditionFields.all }

    /// What a rule consists of.
    ///
    /// - Parameter id: One that a look-up in this map gave; that of another map may end the program.
    public func rule(_ id: RuleID) -> Rule { Rule(self, id) }

    /// The bytes that keys, paths and bodies occupy, and those of records and indexes.
    public var memoryFootprint: (texts: Int, index: Int) {
        let index =
            storage.records.count * MemoryLayout<RuleRecord>.stride + storage.exact.table.byteCount
            + storage.prefixes.byteCount + storage.expressionSet.byteCount
        return (storage.arena.count, index)
    }
}

extension MapFileSystem {
    /// A file system of one file, in which every path leads to nothing else.
    static func only(_ name: String, _ text: String) -> MapFileSystem {
        let path = PathText.joined("/", name)
        return MapFileSystem(
            read: { candidate, _ in
                candidate == path ? .success(MapFileContents(bytes: Array(text.utf8))) : .failure(.missing)
            },
            kind: { _, path in path.isEmpty ? .folder : nil },
            absolutePath: { PathText.joined("/", $0) },
            identity: { $0 })
    }
}
