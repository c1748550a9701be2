import HTTPCaching
import NIOCore

/// A response on its way into the store.
struct Recording {
    let stored: StoredResponse
    let body: SharedBody
    /// Whether it is still going to be stored.
    private(set) var isKept = true
    /// Whether that was given up with the last piece.
    var wasGivenUp = false
    private var size = 0

    init(_ stored: StoredResponse, body: SharedBody) {
        self.stored = stored
        self.body = body
    }

    /// Counts a piece, and gives the storing up where it does not fit.
    mutating func add(_ piece: ByteBuffer, to cache: ResponseCache) {
        guard isKept else { return }
        size &+= piece.readableBytes
        let hasRoom =
            size <= cache.store.maximumEntry && body.reservation.add(max(64, piece.storageCapacity))
        if !hasRoom {
            isKept = false
            wasGivenUp = true
        }
    }
}
