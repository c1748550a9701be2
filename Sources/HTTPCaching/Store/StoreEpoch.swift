/// An instant in a store's history of invalidations, taken when a request goes to the origin (RFC 9111 §4.4).
///
/// A response to a request that was sent before an invalidation may be of the state before it, so it is not admitted
/// after it.
public struct StoreEpoch: Sendable, Equatable {
    let invalidations: UInt64
}
