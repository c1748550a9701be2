/// Writes a saved page piece by piece, in memory that doesn't grow with bodies. Nothing here does I/O.
///
/// The bytes to write are what ``begin()``, then for each exchange ``add(_:size:)``, the body and ``endBody()``, and at
/// last ``finish()`` return, in this order. The first exchange is the document, without which there is no page.
public protocol SavedPageWriter {
    mutating func begin() -> [UInt8]
    /// - Parameters:
    ///   - exchange: of GET; its URL is absolute.
    ///   - size: the bytes of the body that follows, which is not coded.
    mutating func add(_ exchange: RecordedExchange, size: Int) -> [UInt8]
    mutating func endBody() -> [UInt8]
    mutating func finish() -> [UInt8]
}

extension SavedPageWriter {
    /// Writes exchanges that are in memory.
    public mutating func write(_ exchanges: [(exchange: RecordedExchange, body: [UInt8])]) -> [UInt8] {
        var bytes = begin()
        for (exchange, body) in exchanges {
            bytes += add(exchange, size: body.count) + body
            bytes += endBody()
        }
        return bytes + finish()
    }
}
