import Archives
import ArgumentParser
import Basics
import Diagnostics
import Glibc
import Substitution
import YAML

/// The maps that a command line names, each a file or something that can be read only once: standard input, a pipe.
///
/// What can be read only once is read when this is made, and kept for every reload.
struct MapSources: Sendable {
    /// As the command line names them.
    let names: [String]
    /// Whether one of them is standard input, of which nothing is left then.
    let takesStandardInput: Bool
    private let options: MapLoadOptions

    /// Reads what can be read only once, to its end; says so on standard error where that end does not come.
    ///
    /// - Parameters:
    ///   - signals: those that end the program while it waits.
    ///   - isServed: whether the maps are for a proxy, whose ``MapReloader`` says who can change them.
    /// - Throws: `ValidationError` where a name is empty.
    init(
        _ names: [String], _ signals: SignalMask, _ archives: ArchiveDefaults = ArchiveDefaults(),
        isServed: Bool = false
    ) throws {
        guard !names.contains("") else { throw ValidationError("--map needs the name of a file") }
        var options = MapLoadOptions()
        options.archives = archives
        options.warnsOfWriters = !isServed
        options.mayBeNone = names.isEmpty
        var known: [CInt: MapStream] = [:]
        for name in names where options.streams[name] == nil {
            if let descriptor = MapSources.descriptor(of: name) {
                // A second name of the same one names what was read by the first.
                let stream =
                    known[descriptor]
                    ?? MapSources.read(descriptor, name == "-" ? "<stdin>" : name, options.limits, signals)
                known[descriptor] = stream
                options.streams[name] = stream
            } else if MapSources.isPipe(name) {
                options.streams[name] = MapSources.readPipe(name, options.limits, signals)
            }
        }
        self.names = names
        self.options = options
        takesStandardInput = known[STDIN_FILENO] != nil
    }

    /// Loads the maps: files as they are now, all else as it was read.
    ///
    /// - Parameter known: the archives in force, which are kept if they have not changed.
    func load(keeping known: [MapArchive] = []) -> MapLoadResult {
        var options = options
        options.knownArchives = known
        let progress = ReadingProgress()
        options.archiveProgress = { progress.show($0, read: $1, of: $2) }
        defer { progress.end() }
        return SubstitutionMap.load(files: names, options: options)
    }

    /// Loads the maps; every error and warning is printed on standard error the way compilers do.
    ///
    /// - Throws: ``CommandFailure`` with status 65 where there is an error, 66 where an archive can't be read.
    func loadOrFail() throws -> SubstitutionMap {
        for name in names where ArchiveFormat.isNamed(name) && options.streams[name] == nil {
            guard let reason = LocalFile.unreadableReason(name, mayBeFolder: true) else { continue }
            throw CommandFailure(status: .noInput, message: "the archive '\(name)' can't be read: \(reason)")
        }
        let result = load()
        for message in result.diagnostics { StandardStream.error.writeLine(message.rendering) }
        guard let map = result.map else { throw CommandFailure(status: .dataError, message: "") }
        return map
    }

    // MARK: Reading

    /// The open descriptor that a name stands for; nil where it is a path like others.
    private static func descriptor(of name: String) -> CInt? {
        if name == "-" || name == "/dev/stdin" { return STDIN_FILENO }
        for folder in ["/dev/fd/", "/proc/self/fd/"] where name.utf8.starts(with: folder.utf8) {
            let number = DecimalNumber.parse(name.utf8.dropFirst(folder.utf8.count)).flatMap(CInt.init(exactly:))
            guard let number, fcntl(number, F_GETFD) >= 0 else { return nil }
            return number
        }
        return nil
    }

    private static func isPipe(_ name: String) -> Bool {
        var status = stat()
        return stat(name, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    private static func readPipe(_ name: String, _ limits: YAMLLimits, _ signals: SignalMask) -> MapStream {
        // Opening it without O_NONBLOCK would wait for a writer without a word.
        let descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return MapStream(name: name, contents: .failure(MapFileError(errno: errno))) }
        defer { close(descriptor) }
        return read(descriptor, name, limits, signals)
    }

    private static func read(
        _ descriptor: CInt, _ name: String, _ limits: YAMLLimits, _ signals: SignalMask
    ) -> MapStream {
        var bytes: [UInt8] = []
        let began = ContinuousClock.now
        var hasSpoken = false
        while true {
            if !hasSpoken, began.duration(to: .now) >= .milliseconds(patience) {
                hasSpoken = true
                StandardStream.error.writeLine(
                    "subproxy: the map is read from \(visibleText(of: name.utf8)), whose end has not come yet")
            }
            guard wait(for: descriptor, atMost: hasSpoken ? -1 : patience, signals) else { continue }
            do {
                let piece = try FileReading.next(of: descriptor)
                guard !piece.isEmpty else {
                    return MapStream(name: name, bytes: bytes)
                }
                bytes += piece
            } catch {
                if error.code == EAGAIN { continue }
                return MapStream(name: name, contents: .failure(MapFileError(errno: error.code)))
            }
            guard bytes.count <= limits.inputBytes else {
                return MapStream(name: name, contents: .failure(.tooLarge(limit: limits.inputBytes)))
            }
        }
    }

    /// How long the end of a map is waited for before that is said, in milliseconds.
    private static let patience: CInt = 2000

    /// Waits until there is something to read, or the end; false where neither has come in time. (poll(2))
    private static func wait(for descriptor: CInt, atMost milliseconds: CInt, _ signals: SignalMask) -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return signals.restored { poll(&wanted, 1, milliseconds) } > 0
    }
}

extension SubstitutionMap {
    /// What is in force: `3 maps, 1204 rules`, `1 map, 12 rules, 2 archives, 430 entries`.
    var summary: String {
        var parts: [String] = []
        if fileCount > 0 || !hasArchives { parts = [counted(fileCount, "map"), counted(ruleCount, "rule")] }
        if hasArchives { parts += [counted(archives.count, "archive"), countedEntries(entryCounts.usable)] }
        return parts.joined(separator: ", ")
    }

    /// The same with all entries, as `check` says it: `1 archive (37 entries, 35 usable)`.
    var detailedSummary: String {
        guard hasArchives else { return summary }
        let counts = entryCounts
        let entries = "\(counted(archives.count, "archive")) (\(countedEntries(counts.all)), \(counts.usable) usable)"
        return fileCount > 0 ? "\(counted(fileCount, "map")), \(counted(ruleCount, "rule")), \(entries)" : entries
    }
}

/// A number and its noun: `1 map`, `2 maps`.
func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

/// `1 entry`, `35 entries`.
func countedEntries(_ number: Int) -> String { number == 1 ? "1 entry" : "\(number) entries" }
