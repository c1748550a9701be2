import HTTPCaching
import NIOCore

/// Metadata that tells one stored response from another.
struct Label: StoreMetadata, Equatable {
    var number: Int
    var memoryCost = 0
}

typealias LabelledEntry = StoreEntry<Label>
typealias LabelledStore = ResponseStore<Label>

extension StoreEntry where Metadata == Label {
    /// An entry with `size` bytes of content, in one segment whose capacity is the next power of two.
    convenience init(_ key: String, number: Int = 0, size: Int = 64) {
        var content = ByteBufferAllocator().buffer(capacity: size)
        content.writeRepeatingByte(UInt8(truncatingIfNeeded: number), count: size)
        self.init(key: StoreKey(key), metadata: Label(number: number), segments: size == 0 ? [] : [content])
    }

    /// What an entry with a key of so many bytes and 64 bytes of content costs.
    static func cost(keyLength: Int) -> Int {
        StoreEntry(String(repeating: "k", count: keyLength)).cost
    }
}

extension StoreKey {
    init(_ text: String) { self.init(Array(text.utf8)) }
}

extension ResponseStore where Metadata == Label {
    /// Inserts with the epoch of now.
    @discardableResult
    func insert(_ entry: Entry, replacing: [Entry] = []) -> Bool {
        insert(entry, replacing: replacing, epoch: epoch(for: entry.key))
    }

    func numbers(_ key: String) -> [Int] { entries(for: StoreKey(key)).map(\.metadata.number) }
}
