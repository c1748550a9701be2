import HTTPCaching
import NIOCore

/// A response on its way into the store.
struct Recording {
    let stored: StoredResponse
    let body: SharedBody
    /// How many bytes a part says that it has; nil for all other responses.
    let announced: Int?
    /// Whether it is still going to be stored.
    private(set) var isKept = true
    private var size = 0

    init(_ stored: StoredResponse, body: SharedBody, announced: Int?) {
        self.announced = announced
        self.stored = stored
        self.body = body
    }

    /// Counts a piece, and gives the storing up where it does not fit.
    ///
    /// - Returns: false where it was given up with this piece.
    mutating func add(_ piece: ByteBuffer, to cache: ResponseCache) -> Bool {
        guard isKept else { return true }
        size &+= piece.readableBytes
        isKept = size <= cache.store.maximumEntry && body.reservation.add(Recording.cost(of: piece))
        return isKept
    }

    /// The bytes of memory that a piece takes.
    static func cost(of piece: ByteBuffer) -> Int { max(64, piece.storageCapacity) }
}
