import CLinux
import Glibc
import HTTPSemantics
import Synchronization

/// States of files that the kernel has in memory, so that to ask for them waits for no disk and no network: an event
/// loop may (openat2(2), RESOLVE_CACHED).
///
/// Kernels before 5.12 can't be asked so, nor can any where a filter forbids the call.
enum CachedState {
    private static let isSupported = Atomic<Bool>(true)

    /// The state of what stands at a path, which ends in NUL; nil where the kernel would have to wait for it, or there
    /// is nothing.
    static func of(
        _ path: UnsafePointer<CChar>, in directory: CInt, flags: CInt = O_NOFOLLOW,
        resolve: UInt64 = linux_resolve_strictly_beneath()
    ) -> FileIdentity? {
        guard let descriptor = open(path, in: directory, flags: flags, resolve: resolve) else { return nil }
        defer { close(descriptor) }
        return of(descriptor)
    }

    /// Opens what stands at a path, to ask for its state and for nothing else (O_PATH); nil where the kernel would have
    /// to wait for it, or there is nothing.
    static func open(
        _ path: UnsafePointer<CChar>, in directory: CInt, flags: CInt = O_NOFOLLOW,
        resolve: UInt64 = linux_resolve_strictly_beneath()
    ) -> CInt? {
        guard isSupported.load(ordering: .relaxed) else { return nil }
        let descriptor = linux_open_cached(directory, path, flags | O_CLOEXEC, resolve)
        if descriptor >= 0 { return descriptor }
        switch -descriptor {
        case EINVAL, ENOSYS, EPERM: isSupported.store(false, ordering: .relaxed)
        default: break
        }
        return nil
    }

    /// The state of what is open, which never waits: the kernel has in memory what a descriptor stands for.
    static func of(_ descriptor: CInt) -> FileIdentity? {
        let emptyPath: CInt = 0x1000
        var state = linux_file_state()
        return linux_state(descriptor, "", emptyPath, &state) == 0 ? FileIdentity(state) : nil
    }

    /// How long the kernel is taken to have in memory what a look has found there: 1 s.
    ///
    /// A look costs half as much where it asks for no promise, and does not follow the path again as strictly as a
    /// folder's look does. It waits for the disk only where the kernel has dropped what it had within that second.
    static let staysFor: UInt64 = 1_000_000_000

    /// How long a file is asked by its descriptor before its path is followed again: 10 s.
    ///
    /// Its folder tells of every change of what a name leads to but one: something that is mounted over the file.
    static let leadsThereFor: UInt64 = 10_000_000_000

    /// The state of a name that is longer than a path by a suffix.
    ///
    /// - Parameter wasThereLately: whether the kernel had it in memory ``staysFor`` ago or later, so that it need not
    ///   promise not to wait. Links on the way are followed then: to ask for the folder first is for the caller.
    static func of(
        _ path: [UInt8], suffix: StaticString, in directory: CInt, wasThereLately: Bool
    ) -> FileIdentity? {
        withName(path, suffix: suffix) { name in
            guard wasThereLately else { return of(name, in: directory) }
            var state = linux_file_state()
            return linux_state(directory, name, 0, &state) == 0 ? FileIdentity(state) : nil
        }
    }

    /// As ``open(_:in:flags:resolve:)``.
    static func open(_ path: [UInt8], in directory: CInt) -> CInt? {
        withName(path, suffix: "") { open($0, in: directory) }
    }

    private static func withName<Result>(
        _ path: [UInt8], suffix: StaticString, _ body: (UnsafePointer<CChar>) -> Result?
    ) -> Result? {
        let length = path.count &+ suffix.utf8CodeUnitCount
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: length &+ 1) { name in
            guard let start = name.baseAddress else { return nil }
            let bytes = UnsafeMutableRawBufferPointer(start: start, count: length &+ 1)
            bytes.copyBytes(from: path)
            suffix.withUTF8Buffer {
                UnsafeMutableRawBufferPointer(rebasing: bytes[path.count...]).copyBytes(from: $0)
            }
            bytes[length] = 0
            return body(start)
        }
    }
}

/// A folder that files were loaded from, and what the event loops last saw of it: one look serves all its files.
final class KnownFolder: Sendable {
    /// What was seen of a folder.
    struct Look {
        let identity: FileIdentity
        /// The root that it was found below.
        let root: DirectoryDescriptor
        /// Monotonic nanoseconds: all of it was seen at this time or later.
        let time: UInt64
    }

    /// Whoever asks holds it, by a file that was loaded from it.
    private unowned let root: FolderRoot
    /// Below the root, with a NUL; nil for the root itself.
    private let path: [UInt8]?
    private let last = Mutex<Held?>(nil)

    /// A look that is kept. It holds no descriptor of a root that another folder has taken the place of.
    private struct Held {
        let identity: FileIdentity
        weak var root: DirectoryDescriptor?
        let time: UInt64
    }

    /// How long a look serves: a part of the time in which an answer need not be looked at.
    static let servesFor: UInt64 = 10_000_000

    init(root: FolderRoot, path: [UInt8]?) {
        self.root = root
        self.path = path
    }

    /// What the folder was at `now` or shortly before; nil where the kernel would have to wait for that, or it is gone.
    func look(at now: UInt64) -> Look? {
        if let held = last.withLock({ $0 }), now >= held.time, now &- held.time < KnownFolder.servesFor,
            let root = held.root
        {
            return Look(identity: held.identity, root: root, time: held.time)
        }
        guard let fresh = freshLook(at: now) else { return nil }
        last.withLock { $0 = Held(identity: fresh.identity, root: fresh.root, time: fresh.time) }
        return fresh
    }

    private func freshLook(at now: UInt64) -> Look? {
        guard let path else { return root.cachedLook(at: now) }
        guard let top = root.ownFolder.look(at: now),
            let identity = path.withCString({ CachedState.of($0, in: top.root.descriptor) })
        else { return nil }
        return Look(identity: identity, root: top.root, time: top.time)
    }
}

extension FileIdentity {
    init(_ state: linux_file_state) {
        self.init(
            device: state.device, inode: state.inode, size: max(0, Int(truncatingIfNeeded: state.size)),
            modified: FileTime(seconds: state.modified_seconds, nanoseconds: Int64(state.modified_nanoseconds)),
            changed: FileTime(seconds: state.changed_seconds, nanoseconds: Int64(state.changed_nanoseconds)))
    }
}
