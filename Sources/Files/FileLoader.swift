import CLinux
import Glibc
import HTTPSemantics
import NIOCore

/// Reads a file with its encoded siblings, and tells whether a state that was read is still the file's.
struct FileLoader: Sendable {
    let bodies: FileBodyReader
    /// Room for bodies that the kernel sends by itself.
    let places: DescriptorPlaces
    /// Room for files that are asked for their state by a descriptor.
    let looks: DescriptorPlaces
    /// Wall-clock nanoseconds.
    let now: @Sendable () -> UInt64

    init(
        bodies: FileBodyReader, places: DescriptorPlaces = .forContents(), looks: DescriptorPlaces = .forLooks(),
        now: @escaping @Sendable () -> UInt64
    ) {
        self.bodies = bodies
        self.places = places
        self.looks = looks
        self.now = now
    }

    /// How many seconds an encoded sibling may be older than its file, for tools that write both in any order.
    static let staleAfter: Int64 = 2

    /// Reads the file; with `none` its content stays on disk.
    ///
    /// - Parameter previous: the state that was read before, where one is known: an encoded sibling that stayed as it
    ///   was while the file was edited is stale, however little older it is.
    /// - Throws: ``FileRefusal`` where the path leads to no file that may be served, or it can't be read;
    ///   `tooManyOpenFiles` also for a sibling.
    func load(
        _ root: FolderRoot, _ path: RelativePath, mode: RetentionMode, after previous: LoadedFile? = nil
    ) throws(FileRefusal) -> LoadedFile {
        let directory = try root.directory(of: path)
        var reading = Reading(start: now(), mode: mode)
        // Before a name is looked up, so that one that comes meanwhile changes it.
        let names = try? FileIdentity(directory.status(of: [0]))
        let file = try directory.open(path.name())
        let isLocal = linux_is_local_filesystem(file.descriptor) != 0
        try add(file, coding: nil, to: &reading)
        var outdated: [FileIdentity] = []
        for case let coding? in ContentCoding.siblings {
            let name = path.name(suffix: coding.fileExtension)
            guard let identity = try? directory.identity(of: name) else {
                reading.seen.append(nil)
                continue
            }
            let isOutdated =
                identity.modified < reading.modified
                && previous?.isOutdated(identity, beside: reading.variants.first?.identity) == true
            if isOutdated { outdated.append(identity) }
            guard identity.size > 0, !isOutdated,
                !identity.modified.isOlder(than: reading.modified, byMoreThan: Self.staleAfter)
            else {
                reading.seen.append(identity)
                continue
            }
            try addSibling(directory, name, coding, identity, to: &reading)
        }
        // What is mounted elsewhere may be on a file system that makes an event loop wait.
        let device = file.identity.device
        let isOfOneDevice = names?.device == device && reading.seen.allSatisfy { $0 == nil || $0?.device == device }
        return LoadedFile(
            root: root, path: path.bytes, mode: mode, variants: reading.variants, seen: reading.seen,
            isSettled: reading.isSettled, outdated: outdated,
            folder: isLocal && isOfOneDevice ? root.knownFolder(of: path) : nil,
            names: names.flatMap { $0.isSettled(at: reading.start) ? $0 : nil }, looks: looks)
    }

    /// Whether the path still leads to the file, and the file and its siblings are as they were read.
    ///
    /// - Throws: where the path leads to no file that may be served.
    func isCurrent(_ loaded: LoadedFile) throws(FileRefusal) -> Bool {
        let path = try RelativePath(loaded.path)
        let directory = try loaded.root.directory(of: path)
        let start = now()
        let names = loaded.folder == nil ? nil : try? FileIdentity(directory.status(of: [0]))
        guard try directory.identity(of: path.name()) == loaded.seen.first else { return false }
        let isCurrent = zip(ContentCoding.siblings, loaded.seen).dropFirst().allSatisfy { coding, identity in
            guard let coding else { return true }
            return (try? directory.identity(of: path.name(suffix: coding.fileExtension))) == identity
        }
        if isCurrent, let names, names.isSettled(at: start) { loaded.noteNames(of: names) }
        return isCurrent
    }

    /// Whether the file and its siblings are as they were read, by what the kernel has in memory; never waits.
    ///
    /// - Parameter now: monotonic nanoseconds.
    /// - Returns: The time since which that is known; nil where it isn't: ``isCurrent(_:)`` finds out.
    func unchangedSince(_ loaded: LoadedFile, at now: UInt64) -> UInt64? {
        guard loaded.isSettled, let look = loaded.folder?.look(at: now), loaded.hasNames(of: look.identity) else {
            return nil
        }
        // A sibling that was not there would have changed the folder, and so would another file in this one's place.
        if let descriptor = loaded.descriptor(at: now) {
            return CachedState.of(descriptor) == loaded.identity ? look.time : nil
        }
        let root = look.root.descriptor
        let wasThereLately = loaded.wasInKernel(at: now)
        guard let identity = loaded.identity,
            loaded.siblings.allSatisfy({ suffix, identity in
                CachedState.of(loaded.path, suffix: suffix, in: root, wasThereLately: wasThereLately) == identity
            }),
            wasThereLately
                ? CachedState.of(loaded.path, suffix: "", in: root, wasThereLately: true) == identity
                : isFound(loaded, as: identity, in: root)
        else { return nil }
        if !wasThereLately { loaded.noteInKernel(at: now) }
        return look.time
    }

    /// Whether a path leads to a state of a file. The descriptor that this takes is kept for the next looks, where
    /// there is room and it tells all: encoded siblings are looked at by their paths.
    private func isFound(_ loaded: LoadedFile, as identity: FileIdentity, in root: CInt) -> Bool {
        guard let descriptor = CachedState.open(loaded.path, in: root) else { return false }
        let isSame = CachedState.of(descriptor) == identity
        if !isSame || !loaded.isInMemory || !loaded.siblings.isEmpty || !loaded.hold(descriptor) { close(descriptor) }
        return isSame
    }

    /// What has been read so far.
    private struct Reading {
        /// Before anything was read, so that a write after the reading bears a later time.
        let start: UInt64
        let mode: RetentionMode
        var variants: [FileVariant] = []
        var seen: [FileIdentity?] = []
        var isSettled = true

        /// The file's own time of modification.
        var modified: FileTime { variants.first?.identity.modified ?? FileTime(seconds: .min) }
    }

    private func addSibling(
        _ directory: DirectoryDescriptor, _ name: [UInt8], _ coding: ContentCoding, _ identity: FileIdentity,
        to reading: inout Reading
    ) throws(FileRefusal) {
        do {
            let file = try directory.open(name)
            try add(file, coding: coding, to: &reading)
        } catch .tooManyOpenFiles {
            throw .tooManyOpenFiles
        } catch {
            // The file is served without this coding, and looked at again when the sibling changes.
            reading.seen.append(identity)
        }
    }

    private func add(
        _ file: borrowing OpenFile, coding: ContentCoding?, to reading: inout Reading
    ) throws(FileRefusal) {
        var outcome = FileBodyReader.Outcome(identity: file.identity)
        if reading.mode != .none { outcome = try bodies.read(file) }
        let identity = outcome.identity
        let isSettled = outcome.isConsistent && identity.isSettled(at: reading.start)
        let etag: [UInt8]
        if let body = outcome.body {
            etag = EntityTagMaking.tag(of: body, coding: coding)
        } else {
            etag = EntityTagMaking.tag(of: identity, salt: isSettled ? 0 : reading.start, coding: coding)
        }
        let kept = outcome.body.flatMap { SealedContent.make($0, places) }
        reading.variants.append(
            FileVariant(
                coding: coding, identity: identity, etag: etag,
                size: outcome.body?.readableBytes ?? identity.size, body: kept?.bytes ?? outcome.body,
                sealed: kept?.sealed))
        reading.seen.append(identity)
        reading.isSettled = reading.isSettled && isSettled
    }
}
