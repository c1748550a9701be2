import CLinux
import Glibc

/// inotify(7) watches on the folders that lead to some files.
///
/// Folders are watched and not files, because a watch stays with the file that a rename puts aside.
struct FolderWatches: ~Copyable {
    /// Readable when something happened; negative where inotify can't be had.
    let descriptor: CInt
    /// Whether changes can go unseen, so that the files have to be looked at from time to time.
    private(set) var needsPolling: Bool

    /// The names of interest in each watched folder.
    private var names: [CInt: Set<[UInt8]>] = [:]

    private static let structural =
        UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM) | UInt32(IN_MOVED_TO) | UInt32(IN_DELETE_SELF)
        | UInt32(IN_MOVE_SELF)
    private static let content = UInt32(IN_MODIFY) | UInt32(IN_CLOSE_WRITE) | UInt32(IN_ATTRIB)
    private static let concernsFolder =
        UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_IGNORED) | UInt32(IN_UNMOUNT)

    /// - Parameter usesNotifications: false stands for a system that has no inotify instance left.
    init(usesNotifications: Bool) {
        descriptor = usesNotifications ? inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC)) : -1
        needsPolling = descriptor < 0
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Watches what leads to these files, and nothing else any more.
    mutating func arm(_ paths: [[UInt8]]) {
        guard descriptor >= 0 else { return }
        var wanted: [CInt: Set<[UInt8]>] = [:]
        var isComplete = true
        // What the folders of the files lead to: often many are in one.
        var folders: [ArraySlice<UInt8>: (path: [UInt8], watch: CInt)] = [:]
        for path in paths {
            let end = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
            // A file that is away for a moment may come back on another machine.
            for place in [path, Array(path[..<max(1, end)])]
            where (place + [0]).withCString(linux_is_shared_filesystem) != 0 { isComplete = false }
            if let known = folders[path[..<end]] {
                let name = Array(path[end...].dropFirst())
                if LookupTrail.endsAt(name, in: known.path) {
                    wanted[known.watch, default: []].insert(name)
                    continue
                }
            }
            LookupTrail.follow(path) { folder, name, isLast in
                // The mask of a folder that is watched already is added to: it may be on the way to several files.
                let mask =
                    (isLast ? FolderWatches.structural | FolderWatches.content : FolderWatches.structural)
                    | UInt32(IN_ONLYDIR) | UInt32(IN_DONT_FOLLOW) | UInt32(IN_MASK_ADD)
                let watch = (folder + [0]).withCString { inotify_add_watch(descriptor, $0, mask) }
                if watch >= 0 {
                    wanted[watch, default: []].insert(name)
                    if isLast, folders[path[..<end]] == nil, path[end...].dropFirst().elementsEqual(name) {
                        folders[path[..<end]] = (folder, watch)
                    }
                } else if errno == ENOSPC || errno == ENOMEM || errno == EACCES {
                    isComplete = false
                }
            }
        }
        for watch in names.keys where wanted[watch] == nil { inotify_rm_watch(descriptor, watch) }
        names = wanted
        needsPolling = !isComplete
    }

    /// Takes what happened from the kernel.
    ///
    /// - Returns: whether any of it concerns the files.
    mutating func drain() -> Bool {
        guard descriptor >= 0 else { return false }
        var isRelevant = false
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 8) { buffer in
            while true {
                let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                if concernsFiles(UnsafeRawBufferPointer(rebasing: buffer.prefix(count))) { isRelevant = true }
            }
        }
        return isRelevant
    }

    private func concernsFiles(_ events: UnsafeRawBufferPointer) -> Bool {
        let headSize = MemoryLayout<inotify_event>.size
        var offset = 0
        while events.count &- offset >= headSize {
            let event = events.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            let name = events[(offset &+ headSize)...].prefix(Int(event.len)).prefix { $0 != 0 }
            offset &+= headSize &+ Int(event.len)
            if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
            // Events of a watch that was taken back may still be in the queue.
            guard let wanted = names[event.wd] else { continue }
            if event.mask & FolderWatches.concernsFolder != 0 || wanted.contains(Array(name)) { return true }
        }
        return false
    }
}
