/// What a store holds and did, for the status page and metrics.
///
/// `entries` and `bytes` are stored now, `reserved` bytes are for contents being received; `evictions` were for want of
/// room or of room among a key's variants; `refused` counts insertions and reservations that failed.
public typealias StoreStatistics = (
    entries: Int, bytes: Int, reserved: Int, evictions: Int, admitted: Int, refused: Int
)
