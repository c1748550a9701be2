import Glibc
public import HTTPSemantics
public import NIOCore
import Synchronization

/// A local file as it was when it was read, with its encoded siblings.
///
/// Immutable; a later state of the file is another value.
public final class LoadedFile: Sendable {
    public let root: FolderRoot
    /// The path below the root, without empty components and `.`.
    public let path: [UInt8]
    public let mode: RetentionMode
    /// The file itself first, then those of `.br`, `.zst` and `.gz` that are there and not stale.
    public let variants: [FileVariant]
    /// Whether a later write is sure to show in the file's times; else the next check reads the bytes again.
    public let isSettled: Bool
    /// What its maker keeps with content that was made.
    public let note: MadeNote?

    /// The states of the file and of its siblings, in the order of ``ContentCoding/siblings``; nil where there is none.
    let seen: [FileIdentity?]
    /// Those of the siblings that are there, by what their names have behind the file's.
    let siblings: [(suffix: StaticString, identity: FileIdentity)]
    /// Siblings that stayed as they were while the file was edited.
    private let outdated: [FileIdentity]
    /// The state of the file itself: here, and not in an array, so that a look reads less memory.
    let identity: FileIdentity?
    /// The folder, where all files are on a file system that event loops may ask; else nil.
    let folder: KnownFolder?
    /// The folder's state in which these names were in it, and no other sibling's; nil where none is known that a new
    /// name would be sure to change.
    private let names: Mutex<FileIdentity?>
    private let use = Atomic<Bool>(false)
    /// Monotonic nanoseconds: when the kernel last said that it has the files' states in memory; 0 before.
    private let inKernel = Atomic<UInt64>(0)
    /// What looks ask for the file's state (O_PATH); -1 before there is one. It is the file's own, whatever is done to
    /// its name, and keeps its number from being another's.
    private let descriptor = Atomic<CInt>(-1)
    private let looks: DescriptorPlaces?

    init(
        root: FolderRoot, path: [UInt8], mode: RetentionMode, variants: [FileVariant], seen: [FileIdentity?],
        isSettled: Bool, outdated: [FileIdentity] = [], folder: KnownFolder? = nil, names: FileIdentity? = nil,
        note: MadeNote? = nil, looks: DescriptorPlaces? = nil
    ) {
        self.looks = looks
        self.note = note
        self.outdated = outdated
        identity = seen.first ?? nil
        siblings = zip(ContentCoding.siblings, seen).dropFirst().compactMap { coding, identity in
            identity.map { (coding?.fileExtension ?? "", $0) }
        }
        self.folder = folder
        self.names = Mutex(names)
        self.root = root
        self.path = path
        self.mode = mode
        self.variants = variants
        self.seen = seen
        self.isSettled = isSettled
    }

    deinit {
        let descriptor = descriptor.load(ordering: .relaxed)
        guard descriptor >= 0 else { return }
        close(descriptor)
        looks?.giveBack()
    }

    /// Which file this is a state of.
    public var key: FileKey { FileKey(root: root.path, path: path) }

    /// Notes that it is in use, so that others are dropped first.
    func noteUse() {
        if !use.load(ordering: .relaxed) { use.store(true, ordering: .relaxed) }
    }

    /// Whether use was noted since this was last asked.
    func takeUse() -> Bool { use.exchange(false, ordering: .relaxed) }

    /// Whether the kernel had the files' states in memory lately (``CachedState/staysFor``).
    func wasInKernel(at now: UInt64) -> Bool {
        let time = inKernel.load(ordering: .relaxed)
        return time != 0 && now >= time && now &- time < CachedState.staysFor
    }

    /// What the file is asked for its state by; nil where its path is to be followed.
    func descriptor(at now: UInt64) -> CInt? {
        let descriptor = descriptor.load(ordering: .relaxed)
        let time = inKernel.load(ordering: .relaxed)
        return descriptor >= 0 && now >= time && now &- time < CachedState.leadsThereFor ? descriptor : nil
    }

    /// Keeps a descriptor of the file, and closes it in the end.
    ///
    /// - Returns: whether it does: there may be one already, or no room.
    func hold(_ opened: CInt) -> Bool {
        guard descriptor.load(ordering: .relaxed) < 0, let looks, looks.take() else { return false }
        if descriptor.compareExchange(expected: -1, desired: opened, ordering: .relaxed).exchanged { return true }
        looks.giveBack()
        return false
    }

    /// Notes that the kernel had the files' states in memory at a time, in monotonic nanoseconds.
    func noteInKernel(at now: UInt64) { inKernel.store(now, ordering: .relaxed) }

    /// Whether a sibling was there in this state already, and the file has been edited since.
    func isOutdated(_ sibling: FileIdentity, beside current: FileIdentity?) -> Bool {
        if outdated.contains(sibling) { return true }
        guard let identity, let current else { return false }
        return (identity.modified != current.modified || identity.size != current.size)
            && seen.dropFirst().contains(sibling)
    }

    /// Whether the folder's names are those that this was loaded by, as the folder's state tells.
    func hasNames(of folder: FileIdentity) -> Bool { names.withLock { $0 == folder } }

    /// Notes a state of the folder that was seen before its names were found to be those that this was loaded by.
    func noteNames(of folder: FileIdentity) { names.withLock { $0 = folder } }

    /// Whether every variant's bytes are in memory.
    public var isInMemory: Bool { variants.allSatisfy { $0.body != nil } }

    /// Whether it stays as first read, whatever becomes of the file.
    ///
    /// A file that is too large to be kept can't be pinned, and is treated like a retained one.
    public var isPinned: Bool { mode == .pinned && isInMemory }

    /// The bytes of all bodies.
    var bodyBytes: Int { variants.reduce(0) { $0 &+ ($1.body?.readableBytes ?? 0) } }

    /// What the bodies take in memory, and the note.
    var bodyCost: Int {
        bodyBytes &+ (note?.cost ?? 0) &+ variants.reduce(0) { $0 &+ ($1.sealed == nil ? 0 : SealedContent.overhead) }
    }

    /// Whether a response made from the other is right for this one too, byte for byte.
    func answersLike(_ other: LoadedFile) -> Bool {
        variants.elementsEqual(other.variants) { $0.isSameRepresentation(as: $1) }
    }

    /// The same, with the bodies of `other` where they are equal, so that equal bytes are in memory once.
    func sharingBodies(with other: LoadedFile) -> LoadedFile {
        let shared = variants.map { variant in
            let twin = other.variants.first { $0.etag == variant.etag && $0.body != nil }
            guard variant.body != nil, let twin else { return variant }
            var variant = variant
            variant.body = twin.body
            variant.sealed = twin.sealed
            return variant
        }
        return LoadedFile(
            root: root, path: path, mode: mode, variants: shared, seen: seen, isSettled: isSettled, outdated: outdated,
            folder: folder, names: names.withLock { $0 }, note: note, looks: looks)
    }
}

/// A file in one content coding.
public struct FileVariant: Sendable {
    /// nil for the file itself.
    public let coding: ContentCoding?
    public let identity: FileIdentity
    /// A strong entity tag with its quotes, another for each variant (RFC 9110 §8.8.3).
    public let etag: [UInt8]
    /// Unix seconds.
    public let lastModified: Int64
    /// The length of the content in bytes.
    public let size: Int
    /// The content; nil where it is over the limit or not to be kept, and is streamed from disk.
    public internal(set) var body: ByteBuffer?
    /// The same as the kernel sends it by itself; nil where the content is small or there were enough of them.
    public internal(set) var sealed: SealedContent?

    init(
        coding: ContentCoding?, identity: FileIdentity, etag: [UInt8], size: Int, body: ByteBuffer?,
        sealed: SealedContent? = nil
    ) {
        self.coding = coding
        self.identity = identity
        self.etag = etag
        lastModified = identity.modified.seconds
        self.size = size
        self.body = body
        self.sealed = sealed
    }

    func isSameRepresentation(as other: FileVariant) -> Bool {
        coding == other.coding && etag == other.etag && lastModified == other.lastModified && size == other.size
            && (body == nil) == (other.body == nil)
    }
}

/// How long a file's bytes stay in memory.
public enum RetentionMode: Hashable, Sendable {
    /// Until the file changes, or the memory is needed.
    case retain
    /// For good, as first read.
    case pinned
    /// Not at all.
    case none
}

/// Which file, below which root; compared byte for byte.
public struct FileKey: Hashable, Sendable {
    /// The root's path.
    public let root: String
    /// The path below the root, without empty components and `.`.
    public let path: [UInt8]

    public init(root: String, path: [UInt8]) {
        self.root = root
        self.path = path
    }

    // Equal strings can be different names: String compares by Unicode's canonical equivalence.
    public static func == (lhs: FileKey, rhs: FileKey) -> Bool {
        lhs.path == rhs.path && FileKey.withBytes(lhs.root) { one in FileKey.withBytes(rhs.root) { one.equals($0) } }
    }

    public func hash(into hasher: inout Hasher) {
        path.withUnsafeBytes { hasher.combine(bytes: $0) }
        FileKey.withBytes(root) { hasher.combine(bytes: $0) }
    }

    private static func withBytes<Result>(_ text: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        text.utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
            ?? Array(text.utf8).withUnsafeBytes(body)
    }
}

extension ContentCoding {
    /// The variants that are looked for, the file itself first.
    static let siblings: [ContentCoding?] = [nil, .brotli, .zstandard, .gzip]

    /// What the name of an encoded sibling ends in, also the end of its entity tag; empty where none is looked for.
    var fileExtension: StaticString {
        switch self {
        case .brotli: ".br"
        case .zstandard: ".zst"
        case .gzip: ".gz"
        case .deflate, .identity: ""
        }
    }
}
