import Basics
import Diagnostics
import Dispatch
import Files
import ForwardProxy
import Logging
import Substitution
import Synchronization

/// Reads the maps anew when they change or SIGHUP asks for it, and puts them in force if they have no error.
///
/// One reload runs at a time; requests that come before it begins are one.
final class MapReloader: Sendable {
    private struct State {
        var isScheduled = false
        var isStopped = false
        /// What else went wrong for those who ask for this reload.
        var failure: String?
        var watcher: FileWatcher?
    }

    private let maps: MapSources
    private let server: ProxyServer
    private let messages: ProgramMessages
    private let notifier: ServiceNotifier
    private let status: @Sendable (SubstitutionMap) -> String
    private let ownership = MapOwnership()
    private let idle = IdleThread()
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "subproxy.map-reload")

    /// How long a reload waits for more reasons to reload.
    private static let gathering = DispatchTimeInterval.milliseconds(20)

    /// - Parameters:
    ///   - maps: those that the command line names.
    ///   - status: what the service manager is told that the service does.
    init(
        maps: MapSources, server: ProxyServer, messages: ProgramMessages, notifier: ServiceNotifier,
        status: @escaping @Sendable (SubstitutionMap) -> String
    ) {
        self.maps = maps
        self.server = server
        self.messages = messages
        self.notifier = notifier
        self.status = status
    }

    /// Starts to watch the map files.
    ///
    /// - Parameter began: the time by ``fileNanoseconds()`` before they were read: what has changed meanwhile is read
    ///   again.
    func start(readSince began: UInt64) {
        do throws(FileRefusal) {
            let watcher = try FileWatcher(paths: server.map.watchedFiles, readSince: began) { [weak self] in
                self?.request()
            }
            state.withLock { $0.watcher = watcher }
        } catch {
            messages.logger.warning("the maps can't be watched for changes (\(error)); SIGHUP reloads them")
        }
    }

    /// Looks in the background whether the files exist that the maps name, who can change the maps, and the like.
    func lookAtFiles() { queue.async { self.warnOfFiles(self.server.map) } }

    /// Asks for a reload, which happens soon on another thread.
    ///
    /// - Parameter failure: what has gone wrong beside it already, for the service manager.
    func request(failure: String? = nil) {
        let mustSchedule = state.withLock { state in
            state.failure = failure ?? state.failure
            defer { state.isScheduled = true }
            return !state.isScheduled && !state.isStopped
        }
        guard mustSchedule else { return }
        queue.asyncAfter(deadline: .now() + MapReloader.gathering) { self.reload() }
    }

    /// Ends watching and reloading: no map is put in force after it returns.
    func stop() {
        let watcher = state.withLock { state in
            state.isStopped = true
            return state.watcher.take()
        }
        watcher?.stop()
    }

    private func reload() {
        let (isStopped, otherFailure) = state.withLock { state in
            // A change from now on may come too late for this reload.
            state.isScheduled = false
            return (state.isStopped, state.failure.take())
        }
        guard !isStopped else { return }
        notifier.reloading()
        let began = fileNanoseconds()
        let result = maps.load(keeping: server.map.archives)
        for message in result.diagnostics { messages.report(message) }
        if let map = result.map {
            // Under the lock, since a server that has stopped takes no map.
            let isAdopted = state.withLock { state in
                if !state.isStopped { server.adopt(map) }
                return !state.isStopped
            }
            guard isAdopted else { return }
            server.note(reloadOf: .map, succeeded: true)
            watch(map.watchedFiles, readSince: began)
            messages.logger.notice("the maps are loaded anew (\(map.summary))\(MapReloader.unread(map))")
        } else {
            server.note(reloadOf: .map, succeeded: false)
            // What has an error may be a file that the old map did not include.
            let failed = result.diagnostics.map(\.diagnostic.file).filter { !server.map.streams.contains($0) }
            watch(server.map.watchedFiles + failed + result.filesTried, readSince: began)
            messages.logger.error("the maps have errors; the old ones stay in force (\(server.map.summary))")
        }
        let error = result.map == nil ? result.diagnostics.first { $0.isError }?.summary : nil
        notifier.reloaded(status(server.map), failure: error ?? otherFailure)
        if let map = result.map { warnOfFiles(map) }
    }

    /// What a reload could not read anew.
    private static func unread(_ map: SubstitutionMap) -> String {
        guard !map.streams.isEmpty else { return "" }
        return "; \(map.streams.joined(separator: ", ")) can be read only once and stays as it was"
    }

    private func watch(_ paths: [String], readSince began: UInt64) {
        state.withLock(\.watcher)?.update(paths: paths, readSince: began)
    }

    /// Says who else can change the maps, which expressions see no https URL, and which files do not exist; a map may
    /// be right before its files are there, so this stops nothing.
    ///
    /// A look at the files of a large map takes nearly as long as loading it did, and nobody waits for that.
    private func warnOfFiles(_ map: SubstitutionMap) {
        for warning in ownership.warnings(of: map.changeableFiles) { messages.logger.warning("\(warning)") }
        for message in map.checkExpressions(server.intercepted(by: map)) { messages.report(message) }
        idle.run { [messages] in MapReloader.warnOfMissingFiles(map, messages) }
    }

    private static func warnOfMissingFiles(_ map: SubstitutionMap, _ messages: ProgramMessages) {
        let check = map.checkFiles(limit: 20, unusable: .warning)
        for message in check.diagnostics + map.checkWrittenTemplates() { messages.report(message) }
        let more = check.missing + check.unusable - check.diagnostics.count
        guard more > 0 else { return }
        messages.logger.warning(
            "\(counted(more, "further file")) that the maps name can't be served; 'subproxy check' lists them")
    }
}

extension MapDiagnostic {
    /// Its first line, without the excerpt: `m.yaml:4:5: error: unknown option 'stauts'; did you mean 'status'?`
    fileprivate var summary: String { String(rendering.prefix { $0 != "\n" }) }
}
