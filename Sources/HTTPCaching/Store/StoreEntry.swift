public import NIOCore
import Synchronization

/// One stored response with its content: immutable once made, so that event loops share it without a lock; an update
/// makes another one.
///
/// An entry that a store has given up stays whole for whoever still sends it.
public final class StoreEntry<Metadata: StoreMetadata>: Sendable {
    /// Bytes charged for every entry beside what its key, metadata and content take: the objects' own headers and its
    /// places in the store's tables.
    public static var overhead: Int { 512 }
    /// Bytes charged for every segment beside its storage.
    public static var segmentOverhead: Int { 96 }

    // Ahead of the metadata, whose size differs: so their place in the object is known when this is compiled.
    let residence = Residence()
    /// Where the shard's queues have it; belongs to the shard's lock, and is meaningful only as long as the entry is
    /// current.
    private let slotNumber = Atomic<Int>(-1)

    /// Who is sending the content: of all entries that have it, as an update makes another one.
    private let holders: ContentHolders

    public let key: StoreKey
    /// The content in order, without empty segments; a content of up to `StoredContent.joinLimit` is one segment.
    public let segments: [ByteBuffer]
    /// Bytes of content.
    public let size: Int
    /// Bytes of memory charged to the store's budget: the whole storage of every segment, also where the segment is a
    /// small part of it, the metadata, the key and a constant.
    public let cost: Int
    public let metadata: Metadata

    /// An entry that no store holds yet.
    ///
    /// Small contents are copied into one segment of their own. Larger ones are kept as they are and charged by the
    /// capacity of their storage, which NIO rounds up to a power of two: segments should be made with a power of two
    /// and filled.
    public convenience init(key: StoreKey, metadata: Metadata, segments: [ByteBuffer]) {
        self.init(key: key, metadata: metadata, joined: StoredContent.joined(segments), holders: ContentHolders())
    }

    private init(key: StoreKey, metadata: Metadata, joined segments: [ByteBuffer], holders: ContentHolders) {
        self.holders = holders
        self.key = key
        self.metadata = metadata
        self.segments = segments
        size = segments.reduce(0) { $0 + $1.readableBytes }
        cost =
            Self.overhead + MemoryLayout<Metadata>.stride + max(0, metadata.memoryCost) + key.memoryCost
            + segments.reduce(0) { $0 + $1.storageCapacity + Self.segmentOverhead }
    }

    /// Whether the store still holds this very entry: false before it is inserted and once it was replaced, evicted or
    /// invalidated. An atomic read, so that an event loop may keep what it made of the entry as long as this holds.
    public var isCurrent: Bool { residence.isCurrent }

    /// Notes a use for the eviction policy. Writes only if the count isn't at its cap of 3, so that hits of a hot
    /// entry on several event loops write no memory that they share.
    public func noteUse() { residence.noteUse() }

    /// Asks that the eviction handler be called when the store gives the entry up.
    ///
    /// Returns whether the entry is current. Where it isn't, it may have been given up before the mark was seen, and no
    /// call may come: drop what was made of it at once.
    @discardableResult
    public func markReady() -> Bool { residence.markReady() }

    var isHeld: Bool { holders.areThere }

    /// Somebody begins to send the content. Returns the bytes that are in memory again for that, since the store had
    /// given the content up already and nobody was sending it; else 0.
    func beginHold() -> Int { holders.add() }

    /// Somebody has sent the content. Returns the bytes that are given up with it: those of what the store has given up
    /// meanwhile for the last one, else 0.
    func endHold() -> Int { holders.remove() }

    /// Called when the store gives the content up. Returns whether it stays because somebody sends it.
    func unlinkHeld() -> Bool { holders.unlink(cost) }

    /// An entry with the same key and content, which no store holds: it takes the place of this one, or is for one
    /// client.
    public func with(_ metadata: Metadata) -> StoreEntry {
        StoreEntry(key: key, metadata: metadata, joined: segments, holders: holders)
    }

    var slot: Int {
        get { slotNumber.load(ordering: .relaxed) }
        set { slotNumber.store(newValue, ordering: .relaxed) }
    }
}

/// What a store keeps of a response beside its content.
public protocol StoreMetadata: Sendable {
    /// Bytes of memory that the value refers to beside its own: fields, reason phrase, entity tag. They are charged to
    /// the store's budget, so that many small responses with long fields are bounded too. A negative number counts as
    /// 0.
    var memoryCost: Int { get }
}
