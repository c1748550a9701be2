import HTTPSemantics
import Synchronization

/// The local files that are kept in memory, for all event loops.
///
/// Functions that are said to do file I/O belong on a thread pool. A file is read by one caller while others that want
/// it wait; different files are read in parallel.
public final class RetainedFiles: Sendable {
    public let limits: RetentionLimits

    private let loader: FileLoader
    private let onEvict: @Sendable (FileKey) -> Void
    private let state: Mutex<State>

    /// The bytes that an entry counts beside its bodies: paths, tags, tables.
    static let entryCost = 1024

    /// - Parameters:
    ///   - now: wall-clock nanoseconds; tells whether a file was written so recently that another write might not show
    ///     in its times.
    ///   - onEvict: called without a lock for each file that is dropped, or replaced by another state of it, before the
    ///     function that did it returns. Tables that hold the file should drop it.
    public convenience init(
        limits: RetentionLimits = .init(), now: @escaping @Sendable () -> UInt64,
        onEvict: @escaping @Sendable (FileKey) -> Void = { _ in }
    ) {
        self.init(limits: limits, now: now, onEvict: onEvict, read: systemRead)
    }

    init(
        limits: RetentionLimits, now: @escaping @Sendable () -> UInt64,
        onEvict: @escaping @Sendable (FileKey) -> Void, read: @escaping PositionedRead,
        looks: DescriptorPlaces = .forLooks()
    ) {
        self.limits = limits
        self.onEvict = onEvict
        loader = FileLoader(bodies: FileBodyReader(limit: limits.file, read: read), looks: looks, now: now)
        state = Mutex(State(memory: limits.memory))
    }

    /// Gives a file as it is on disk now, from memory where that is the same. Does file I/O.
    ///
    /// - Throws: ``FileRefusal`` where the path leads to no file that may be served, or it can't be read.
    public func load(
        _ root: FolderRoot, _ path: [UInt8], mode: RetentionMode = .retain
    ) throws(FileRefusal) -> LoadedFile {
        let path = try RelativePath(path)
        try root.refuseFolder(path)
        return try current(root, path, mode, known: nil)
    }

    /// Looks whether a file is still as it was loaded, by the same rules as loading it. Does file I/O.
    ///
    /// A pinned file always is, also when it has vanished.
    public func recheck(_ loaded: LoadedFile) -> FileCheck {
        if loaded.isPinned { return .current(loaded) }
        do {
            let path = try RelativePath(loaded.path)
            let found = try current(loaded.root, path, loaded.mode, known: loaded)
            return found.answersLike(loaded) ? .current(found) : .changed(found)
        } catch {
            return .gone(error)
        }
    }

    /// Takes in what was made, and drops others for it.
    func insert(_ made: LoadedFile) -> LoadedFile {
        let (result, evicted) = state.withLock { $0.insert(made, made.key) }
        for key in evicted { onEvict(key) }
        return result
    }

    /// The last state of a file that is in memory and may be dropped; whether it is the file's still is for
    /// ``glance(at:now:)`` to say. Does no I/O.
    public func held(_ root: FolderRoot, _ path: [UInt8]) -> LoadedFile? {
        guard let path = try? RelativePath(path), !path.mustBeDirectory else { return nil }
        let key = FileKey(root: root.path, path: path.bytes)
        return state.withLock { $0.ring.file(key) }
    }

    /// Content that was made, as far as it is in memory, pinned or not. Does no I/O.
    public func kept(as name: [UInt8], below root: FolderRoot) -> LoadedFile? {
        let key = FileKey(root: root.path, path: name)
        return state.withLock { $0.pinned[key] ?? $0.ring.file(key) }
    }

    /// Looks whether a file is still as it was loaded, as ``recheck(_:)`` does, by what the kernel has in memory. Does
    /// not wait: for event loops.
    ///
    /// - Parameter now: monotonic nanoseconds.
    /// - Returns: The time since which it is known to be, at most ten milliseconds before `now`; nil where it isn't
    ///   known: ``recheck(_:)`` finds out.
    public func glance(at loaded: LoadedFile, now: UInt64) -> UInt64? {
        guard let time = loader.unchangedSince(loaded, at: now) else { return nil }
        loaded.noteUse()
        return time
    }

    /// Opens the content of a variant that is streamed. Does file I/O.
    ///
    /// - Returns: nil where the file is not the one that was loaded any more: load it again.
    /// - Throws: ``FileRefusal`` where the path leads to no file that may be served any more.
    public func open(_ variant: FileVariant, of loaded: LoadedFile) throws(FileRefusal) -> FileStream? {
        let path = try RelativePath(loaded.path)
        let name = path.name(suffix: variant.coding?.fileExtension ?? "")
        let file = try loaded.root.directory(of: path).open(name)
        guard file.identity == variant.identity else { return nil }
        return FileStream(file)
    }

    /// Whether the store holds just this state of the file: a table may keep it until `onEvict` names it.
    ///
    /// Asked on an event loop when a loaded file is put into the loop's table, it keeps files out of the table that
    /// were given up meanwhile or did not fit, so that the memory limit holds.
    public func holds(_ loaded: LoadedFile) -> Bool {
        let key = loaded.key
        return state.withLock { $0.pinned[key] === loaded || $0.ring.file(key) === loaded }
    }

    /// Lets files go that no map names any more, pinned or not.
    public func drop(where isUnused: (FileKey) -> Bool) {
        // There may be many, and event loops wait for the lock.
        let unused = state.withLock { Array($0.pinned.keys) + $0.ring.keys }.filter(isUnused)
        for start in stride(from: 0, to: unused.count, by: 256) {
            let part = unused[start..<min(start + 256, unused.count)]
            // They end behind the lock.
            let files = state.withLock { state in part.flatMap { state.drop($0) } }
            withExtendedLifetime(files) {
                for key in part { onEvict(key) }
            }
        }
    }

    public var statistics: RetentionStatistics {
        state.withLock { state in
            RetentionStatistics(
                entries: state.ring.count &+ state.pinned.count, pinnedEntries: state.pinned.count,
                bytes: state.ring.cost &+ state.pinnedCost, evictions: state.evictions, loads: state.loads)
        }
    }

    /// The file as it is on disk: one of the states in memory that is, else what is read now.
    private func current(
        _ root: FolderRoot, _ path: RelativePath, _ mode: RetentionMode, known: LoadedFile?
    ) throws(FileRefusal) -> LoadedFile {
        if mode == .none {
            if let known, known.isSettled, try loader.isCurrent(known) { return known }
            return try loader.load(root, path, mode: mode, after: known)
        }
        let key = FileKey(root: root.path, path: path.bytes)
        var rejected: [LoadedFile] = []
        var hasWaited = false
        while true {
            switch state.withLock({ $0.nextStep(key, mode, known: known, rejected: rejected) }) {
            case .answer(let loaded):
                return loaded
            case .check(let loaded):
                if try isCurrent(loaded, key), loaded.isSettled { return loaded }
                rejected.append(loaded)
            case .wait(let flight):
                let loaded = try flight.wait().get()
                // A reading that began before this call may have missed an edit before it; a second one did not.
                if hasWaited { return loaded }
                if try isCurrent(loaded, key) { return loaded }
                rejected.append(loaded)
                hasWaited = true
            case .read(let flight):
                return try read(root, path, mode, key, flight, after: rejected.last ?? known)
            }
        }
    }

    /// Looks at the disk; a file that is not there any more is given up.
    private func isCurrent(_ loaded: LoadedFile, _ key: FileKey) throws(FileRefusal) -> Bool {
        do {
            return try loader.isCurrent(loaded)
        } catch {
            let isGone = error != .tooManyOpenFiles && state.withLock { $0.remove(loaded, key) }
            if isGone { onEvict(key) }
            throw error
        }
    }

    /// Reads the file and ends the flight, whose waiters get the same.
    private func read(
        _ root: FolderRoot, _ path: RelativePath, _ mode: RetentionMode, _ key: FileKey, _ flight: LoadFlight,
        after previous: LoadedFile?
    ) throws(FileRefusal) -> LoadedFile {
        let result = Result { () throws(FileRefusal) in
            try loader.load(root, path, mode: mode, after: previous)
        }
        let (outcome, evicted) = state.withLock { $0.finish(key, mode, result) }
        for key in evicted { onEvict(key) }
        flight.complete(outcome)
        return try outcome.get()
    }
}

/// What a look at the disk found.
public enum FileCheck: Sendable {
    /// Answers made from the file are still right. The value is the one to keep: it may be known to be settled now.
    case current(LoadedFile)
    case changed(LoadedFile)
    /// The path leads to no file that may be served.
    case gone(FileRefusal)
}

/// How much is kept in memory.
public struct RetentionLimits: Hashable, Sendable {
    /// Bytes of all retained files; the default is 512 MiB.
    public var memory: Int
    /// Bytes of the largest file that is read whole; the default is 16 MiB. Larger ones are streamed.
    ///
    /// At most 1 GiB, since a ByteBuffer holds no more than 4.
    public var file: Int {
        didSet { file = min(file, RetentionLimits.largestFile) }
    }

    private static let largestFile = 1 << 30

    public init(memory: Int = 512 << 20, file: Int = 16 << 20) {
        self.memory = memory
        self.file = min(file, RetentionLimits.largestFile)
    }
}

/// What the store holds and has done since it was made.
public struct RetentionStatistics: Hashable, Sendable {
    /// Files in memory, pinned ones included.
    public var entries: Int
    public var pinnedEntries: Int
    /// Bodies of all variants, 8 KiB more for each that is sealed, and 1 KiB for each entry.
    public var bytes: Int
    /// How many files were dropped to make room for others.
    public var evictions: Int
    /// How often a file was read from disk for the store.
    public var loads: Int
}
