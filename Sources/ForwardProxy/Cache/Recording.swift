import HTTPCaching
import NIOCore

/// A response on its way into the store.
struct Recording {
    let stored: StoredResponse
    let body: SharedBody
    /// Whether it is still going to be stored.
    private(set) var isKept = true
    private var size = 0

    init(_ stored: StoredResponse, body: SharedBody) {
        self.stored = stored
        self.body = body
    }

    /// Counts a piece, and gives the storing up where it does not fit.
    ///
    /// - Returns: false where it was given up with this piece.
    mutating func add(_ piece: ByteBuffer, to cache: ResponseCache) -> Bool {
        guard isKept else { return true }
        size &+= piece.readableBytes
        isKept = size <= cache.store.maximumEntry && body.reservation.add(max(64, piece.storageCapacity))
        return isKept
    }
}
