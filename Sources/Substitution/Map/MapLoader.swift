import Archives
import Basics
import Diagnostics
import Patterns
public import YAML

/// How maps are loaded.
public struct MapLoadOptions: Sendable {
    /// The most that one file may cost. The default is 256 MiB and the other defaults of ``YAML/YAMLLimits``.
    public var limits: YAMLLimits
    /// The most map files in all. The default is 1000.
    public var maximumFiles: Int
    public var fileSystem: MapFileSystem
    /// What was read of those maps that can be read only once, by the names under which they are to be loaded. The
    /// default is none.
    public var streams: [String: MapStream] = [:]
    /// What the command line says of archives.
    public var archives = ArchiveDefaults()
    /// Whether no file need be named: then the map is empty. The default is false.
    public var mayBeNone = false
    /// Whether a file that every user may change is warned of. The default is true.
    public var warnsOfWriters = true
    /// The archives in force, which are kept where nothing of them has changed. The default is none.
    public var knownArchives: [MapArchive] = []
    /// Called now and then while an archive is read: its name, the bytes read, its size.
    public var archiveProgress: @Sendable (_ name: String, _ read: Int, _ size: Int) -> Void = { _, _, _ in }

    public init(
        limits: YAMLLimits = YAMLLimits(), maximumFiles: Int = 1000, fileSystem: MapFileSystem = .system
    ) {
        self.limits = limits
        // Records have 16 bits for the number of their file.
        self.maximumFiles = min(maximumFiles, 65_535)
        self.fileSystem = fileSystem
    }
}

/// What came of loading maps.
public struct MapLoadResult: Sendable {
    /// The map; nil where there is an error.
    public let map: SubstitutionMap?
    /// All errors and warnings of all files, file by file, each in the order of its file.
    public let diagnostics: [MapDiagnostic]
    /// What could be read of maps that have an error; nil where it is not known where their files are. It answers
    /// nothing: it is for the looks at single rules that `check` takes.
    public var remainder: SubstitutionMap?
    /// Where there is an error: the files that were read, and those that couldn't be. When one of them changes, the
    /// maps may be right.
    public var filesTried: [String] = []

    /// Whether there is an error.
    public var hasErrors: Bool { diagnostics.contains(where: \.isError) }
}

/// Reads map files and those that they include.
///
/// The rules of a file come before those of the files that it includes, and these in the order of `include`. A file
/// that is included twice, without a loop, is read once, where it comes first; a loop is an error.
struct MapLoader {
    private let options: MapLoadOptions
    private let builder = MapBuilder()
    private var indexer = KeyIndexer()
    private var diagnostics: [MapDiagnostic] = []
    private var hasErrors = false
    private var knowsRoots = true
    /// What has an error and is no file of the map, or is none yet.
    private var unread: [String] = []
    /// The identities of the files read.
    private var loaded: Set<ByBytes<String>> = []
    private var intercept: [MapStorage.Intercepted] = []
    /// The hosts in it.
    private var interceptedHosts: Set<String> = []
    private var databases = DatabaseConflicts()
    private var archives: [MapArchive] = []

    init(_ options: MapLoadOptions) {
        var options = options
        if !options.streams.isEmpty {
            let readFile = options.fileSystem.read
            let streams = Dictionary(
                options.streams.values.map { ($0.name, $0.contents) }, uniquingKeysWith: { first, _ in first })
            options.fileSystem.read = { path, limit in streams[path] ?? readFile(path, limit) }
        }
        self.options = options
    }

    /// Loads files, those named first before those named later.
    mutating func load(_ files: [String]) -> MapLoadResult {
        for file in files { visit(name: file, chain: [], includedBy: nil) }
        if files.isEmpty, !options.mayBeNone {
            add(MapDiagnostic(Diagnostic(.error, "no map file is named", file: "subproxy"), source: nil))
        }
        guard !hasErrors else {
            let remainder = SubstitutionMap(
                builder.storage, warnings: [], fileSystem: options.fileSystem, limits: options.limits)
            return MapLoadResult(
                map: nil, diagnostics: diagnostics, remainder: knowsRoots ? remainder : nil,
                filesTried: builder.storage.changeableFiles
                    + archives.flatMap { ($0.isStream ? [] : [$0.path]) + $0.siblingFiles } + unread)
        }
        indexer.finish(&builder.storage)
        builder.storage.tellFilesApart()
        builder.storage.expressionSet = ExpressionSet(builder.storage.expressions.map(\.expression))
        builder.storage.intercepted = intercept
        builder.storage.archives = archives
        var start = 0
        for archive in archives {
            builder.storage.archiveStarts.append(start)
            start += archive.table.count
        }
        let map = SubstitutionMap(
            builder.storage, warnings: diagnostics, fileSystem: options.fileSystem, limits: options.limits)
        return MapLoadResult(map: map, diagnostics: diagnostics)
    }

    /// Reads one file and those that it includes.
    ///
    /// - Parameter chain: The files that led here, each with its identity.
    private mutating func visit(
        name: String, chain: [(name: String, identity: String)], includedBy: (file: String, item: IncludedMap)?
    ) {
        let stream = includedBy == nil ? options.streams[name] : nil
        let name = stream?.name ?? (includedBy == nil ? file(of: name) : name)
        let path = stream?.name ?? options.fileSystem.absolutePath(name)
        let identity = stream?.name ?? options.fileSystem.identity(path)
        if let start = chain.firstIndex(where: { $0.identity.hasBytes(of: identity) }) {
            let names = chain[start...].map(\.name) + [chain[start].name]
            refuse("an include loop: " + names.joined(separator: " → "), name, includedBy)
            return
        }
        guard loaded.insert(ByBytes(identity)).inserted else { return }
        if includedBy == nil, stream?.archive != nil || (stream == nil && options.fileSystem.isArchive(path)) {
            do throws(MapFileError) {
                try open(name, ArchiveSettings(), read: stream?.archive)
            } catch {
                refuse("the archive \(error.explanation)", name, includedBy)
            }
            return
        }
        guard loaded.count <= options.maximumFiles, chain.count < 64 else {
            if loaded.count == options.maximumFiles + 1 || chain.count >= 64 {
                refuse("more than \(options.maximumFiles) map files, or includes deeper than 64", name, includedBy)
            }
            return
        }
        let contents: MapFileContents
        switch options.fileSystem.read(path, options.limits.inputBytes) {
        case .success(let read): contents = read
        case .failure(let error):
            unread.append(path)
            // What stands for bytes of the command line that are none (SE-0405).
            let isText = !name.unicodeScalars.contains("\u{FFFD}")
            let hint = error == .missing && !isText ? "; names that are not UTF-8 can't be read" : ""
            if error == .isFolder, includedBy == nil, stream == nil {
                refuse("the folder has neither substitutions.yaml nor recording.yaml", name, nil)
                return
            }
            let named = ArchiveFormat.isNamed(name) ? "the archive" : "the map"
            let subject = includedBy == nil ? named : "the file '\(name)'"
            refuse("\(subject) \(error.explanation)\(hint)", name, includedBy)
            return
        }
        if contents.isWorldWritable, options.warnsOfWriters {
            add(
                MapDiagnostic(
                    Diagnostic(.warning, "every user of this machine may change this map", file: name), source: nil))
        }
        let file: MapStorage.File
        if let stream {
            file = MapStorage.File(
                stream: stream.name, folder: PathText.joined("", options.fileSystem.absolutePath("")))
        } else {
            file = MapStorage.File(name: name, absolutePath: path)
        }
        let includes = read(contents.bytes, file, isStream: stream != nil)
        let folder = stream == nil ? PathText.folder(of: name) : ""
        for item in includes {
            visit(
                name: PathText.joined(folder, item.path), chain: chain + [(name, identity)],
                includedBy: (name, item))
        }
    }

    /// The file that a name of the command line stands for: a folder's is its map, else its recording.
    private func file(of name: String) -> String {
        let path = options.fileSystem.absolutePath(name)
        guard options.fileSystem.kind(path, []) == .folder else { return name }
        let files = ["substitutions.yaml", "recording.yaml"]
        let file = files.first { options.fileSystem.kind(path, Array($0.utf8)) != nil }
        return file.map { PathText.joined(name, $0) } ?? name
    }

    /// Reads a file's text into the map; the files that it includes.
    private mutating func read(_ bytes: [UInt8], _ file: MapStorage.File, isStream: Bool) -> [IncludedMap] {
        let found = FileDiagnostics(file: file.name, source: bytes)
        let repair = bytes.count <= options.limits.inputBytes ? SourceRepair(bytes) : nil
        for error in repair?.errors ?? [] { found.error(error) }
        let parser = YAMLEventParser(repair?.text ?? bytes, limits: options.limits, refused: found.refuse)
        builder.begin(file, sourceCount: bytes.count)
        var reader = MapFileReader(parser, builder, found)
        reader.read()
        // Records have 32 bits for a place in the arena and for the number of a rule.
        guard builder.storage.arena.count <= UInt32.max, builder.storage.records.count < UInt32.max else {
            add(
                MapDiagnostic(
                    Diagnostic(.error, "the maps have more than 4 GiB together", file: file.name), source: nil))
            knowsRoots = false
            return []
        }
        if !reader.knowsRoot { knowsRoots = false }
        setRoot(reader.root, found)
        if let span = reader.unnamedValues, builder.hasStatementsAlone {
            found.error("beside 'sql', 'values' is a mapping", at: span)
        }
        builder.applyDefaults(reader.defaults)
        // Only databases ask for it, and each is a look at the disk. Which rules have one is known now.
        if builder.storage.options.contains(where: { $0.database != nil }) {
            let number = builder.storage.files.count - 1
            builder.storage.files[number].place = options.fileSystem.identity(builder.storage.files[number].root)
        }
        let keys = builder.keys
        databases.check(builder.storage, from: builder.fileStart, keys, found)
        builder.keys = []
        indexer.index(keys, &builder.storage, found)
        for (host, line) in reader.intercept where interceptedHosts.insert(host).inserted {
            intercept.append(
                MapStorage.Intercepted(host: host, position: "\(file.name):\(line)"))
        }
        let folder = isStream ? "" : PathText.folder(of: file.name)
        for named in reader.archives { open(named, folder: folder, found) }
        for message in found.rendered() { add(message) }
        return reader.includes
    }

    /// Opens an archive that a map names; a folder's is its recording.
    private mutating func open(_ named: NamedArchive, folder: String, _ found: FileDiagnostics) {
        var name = PathText.joined(folder, named.path)
        if options.fileSystem.kind(options.fileSystem.absolutePath(name), []) == .folder {
            name = PathText.joined(name, "recording.yaml")
        }
        if let written = options.archives.written, isSameFile(name, written) { return }
        do throws(MapFileError) {
            try open(name, named.settings)
        } catch {
            unread.append(options.fileSystem.absolutePath(name))
            found.error("the archive '\(name)' \(error.explanation)", at: named.span)
        }
    }

    /// Whether two names lead to one file, or would where it is not there yet.
    private func isSameFile(_ one: String, _ other: String) -> Bool {
        let files = options.fileSystem
        return files.identity(files.absolutePath(one)).hasBytes(of: files.identity(files.absolutePath(other)))
    }

    /// Opens an archive by its name; what is wrong inside of it is reported with its place there.
    ///
    /// - Parameter read: what was read once; nil for the file that has the name.
    private mutating func open(
        _ name: String, _ settings: ArchiveSettings, read: ArchiveFile? = nil
    ) throws(MapFileError) {
        let path = read == nil ? options.fileSystem.absolutePath(name) : name
        let opening = ArchiveOpening(
            defaults: options.archives, known: options.knownArchives, progress: options.archiveProgress)
        var problems: [ArchiveProblem] = []
        var tried: [String] = []
        let archive = try opening.open(
            name, path: path, settings, read: read, tried: { tried = $0 }, report: { problems.append($0) })
        unread += tried
        for message in ArchiveMessages.grouped(problems, file: name) { add(message) }
        guard let archive else { return }
        archives.append(archive)
    }

    /// Sets the folder of the file's local files, and checks what folders are mapped to.
    private mutating func setRoot(_ root: (path: String, span: TextSpan)?, _ found: FileDiagnostics) {
        let number = builder.storage.files.count - 1
        if let root {
            let path = PathText.joined(builder.storage.files[number].root, root.path)
            builder.storage.files[number].root = path
            switch options.fileSystem.kind(path, []) {
            case .folder, .symbolicLink: break
            case nil: found.warning("the folder '\(path)' does not exist", at: root.span)
            case .file, .other:
                found.error("'\(path)' is no folder", at: root.span)
                unread.append(options.fileSystem.absolutePath(path))
                knowsRoots = false
            }
        }
        for check in builder.folderChecks
        where !isFolder(check.path, below: builder.storage.files[number].root) {
            found.error("a folder is mapped to a file; a folder's name ends in '/'", at: check.span)
            let path = PathText.joined(builder.storage.files[number].root, String(decoding: check.path, as: UTF8.self))
            unread.append(options.fileSystem.absolutePath(path))
        }
    }

    /// Whether a folder stands there, or a link, which may be one to a folder: the look at all files tells of links.
    private func isFolder(_ path: [UInt8], below root: String) -> Bool {
        switch options.fileSystem.kind(root, path) {
        case .folder, .symbolicLink: true
        case .file, .other, nil: false
        }
    }

    private mutating func refuse(_ message: String, _ name: String, _ includedBy: (file: String, item: IncludedMap)?) {
        guard let (file, item) = includedBy else {
            add(MapDiagnostic(Diagnostic(.error, message, file: name), source: nil))
            return
        }
        add(MapDiagnostic(Diagnostic(.error, message, file: file, span: item.span), source: item.excerpt))
    }

    private mutating func add(_ message: MapDiagnostic) {
        if message.isError { hasErrors = true }
        diagnostics.append(message)
    }
}
