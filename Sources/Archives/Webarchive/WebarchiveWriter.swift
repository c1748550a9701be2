/// Writes a saved page as a webarchive: a binary property list, whose offsets stand at its end.
///
/// Resources have data, URL, type and charset, and no WebResourceResponse.
public struct WebarchiveWriter: SavedPageWriter {
    private static let keys = [
        "WebMainResource", "WebSubresources", "WebResourceData", "WebResourceURL", "WebResourceMIMEType",
        "WebResourceTextEncodingName", "WebResourceFrameName", "",
    ]

    /// Where each object begins.
    private var offsets: [Int] = []
    private var written = 0
    private var resources: [Int] = []
    /// What goes with the body that is being written.
    private var exchange = RecordedExchange()

    public init() {}

    public mutating func begin() -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        written = bytes.count
        for key in WebarchiveWriter.keys { bytes += object(WebarchiveWriter.string(Array(key.utf8))) }
        return bytes
    }

    public mutating func add(_ exchange: RecordedExchange, size: Int) -> [UInt8] {
        self.exchange = exchange
        let head = object(WebarchiveWriter.head(0x40, size))
        written += size
        return head
    }

    public mutating func endBody() -> [UInt8] {
        var members = [(2, offsets.count - 1), (3, offsets.count)]
        var bytes = object(WebarchiveWriter.string(RecordedURL.repaired(exchange.url)))
        let written = exchange.value("Content-Type") ?? []
        let type = MIMEType(written)
        // Without a type a main resource would be none.
        let essence = type.essence.isEmpty ? Array("application/octet-stream".utf8) : type.essence
        members.append((4, offsets.count))
        bytes += object(WebarchiveWriter.string(essence))
        if let charset = type["charset"], !charset.isEmpty {
            members.append((5, offsets.count))
            bytes += object(WebarchiveWriter.string(charset))
        }
        // WebKit's own archives name the frame of the main resource, with an empty name.
        if resources.isEmpty { members.append((6, 7)) }
        resources.append(offsets.count)
        return bytes + object(WebarchiveWriter.dictionary(members))
    }

    public mutating func finish() -> [UInt8] {
        var members: [(Int, Int)] = []
        var bytes: [UInt8] = []
        if let main = resources.first { members.append((0, main)) }
        if resources.count > 1 {
            members.append((1, offsets.count))
            let rest = resources.dropFirst()
            bytes += object(
                WebarchiveWriter.head(0xA0, rest.count)
                    + rest.flatMap { WebarchiveWriter.bytes($0, WebarchiveWriter.width) })
        }
        let top = offsets.count
        bytes += object(WebarchiveWriter.dictionary(members))
        let table = written
        for offset in offsets { bytes += WebarchiveWriter.bytes(offset, 8) }
        bytes += [0, 0, 0, 0, 0, 0, 8, UInt8(WebarchiveWriter.width)]
        return bytes + [offsets.count, top, table].flatMap { WebarchiveWriter.bytes($0, 8) }
    }

    /// The bytes of a reference.
    private static let width = 4

    /// Counts an object, and its bytes as written.
    private mutating func object(_ bytes: [UInt8]) -> [UInt8] {
        offsets.append(written)
        written += bytes.count
        return bytes
    }

    private static func bytes(_ value: Int, _ width: Int) -> [UInt8] {
        (0..<width).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    /// A marker with a length.
    private static func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
        if count < 15 { return [kind | UInt8(count)] }
        if count < 256 { return [kind | 15, 0x10, UInt8(count)] }
        if count < 65_536 { return [kind | 15, 0x11] + bytes(count, 2) }
        return count < 1 << 31 ? [kind | 15, 0x12] + bytes(count, 4) : [kind | 15, 0x13] + bytes(count, 8)
    }

    private static func string(_ text: [UInt8]) -> [UInt8] {
        guard text.contains(where: { $0 >= 0x80 }) else { return head(0x50, text.count) + text }
        let units = Array(String(decoding: text, as: UTF8.self).utf16)
        return head(0x60, units.count)
            + units.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    }

    private static func dictionary(_ members: [(key: Int, value: Int)]) -> [UInt8] {
        head(0xD0, members.count) + members.flatMap { bytes($0.key, width) }
            + members.flatMap { bytes($0.value, width) }
    }
}
