/// The tables that compressed fields refer to: the static one, and the dynamic one of a connection (RFC 7541 §2.3).
struct HPACKTable {
    /// A field, its name and then its value in one piece.
    struct Entry {
        var bytes: [UInt8]
        var nameLength: Int

        var size: Int { bytes.count &+ 32 }

        init(_ bytes: [UInt8], nameLength: Int) {
            self.bytes = bytes
            self.nameLength = nameLength
        }

        init(_ name: StaticString, _ value: StaticString = "") {
            bytes = name.withUTF8Buffer { Array($0) } + value.withUTF8Buffer { Array($0) }
            nameLength = name.utf8CodeUnitCount
        }
    }

    /// The oldest entries come first; those before `oldest` have been evicted.
    private var entries: [Entry] = []
    private var oldest = 0
    private(set) var size = 0
    private(set) var capacity = HPACKTable.largestCapacity

    /// The setting's default, which is never raised: bytes.
    static let largestCapacity = 4096

    /// The entry of an index, counted from 1; nil where there is none.
    subscript(index: Int) -> Entry? {
        guard index > 0 else { return nil }
        guard index > HPACKTable.fixed.count else { return HPACKTable.fixed[index &- 1] }
        let position = entries.count &- (index &- HPACKTable.fixed.count)
        return position >= oldest ? entries[position] : nil
    }

    mutating func insert(_ entry: Entry) {
        evict(to: capacity &- entry.size)
        guard entry.size <= capacity else { return }
        entries.append(entry)
        size &+= entry.size
    }

    /// - Returns: whether the capacity is one that may be.
    mutating func setCapacity(_ capacity: Int) -> Bool {
        guard capacity <= HPACKTable.largestCapacity else { return false }
        self.capacity = capacity
        evict(to: capacity)
        return true
    }

    private mutating func evict(to limit: Int) {
        while size > max(0, limit), oldest < entries.count {
            size &-= entries[oldest].size
            entries[oldest].bytes = []
            oldest &+= 1
        }
        // Moved once in a while, so that each insertion costs the same on average.
        guard oldest > 128, oldest > entries.count / 2 else { return }
        entries.removeFirst(oldest)
        oldest = 0
    }

    /// RFC 7541 Appendix A.
    static let fixed: [Entry] = [
        Entry(":authority"), Entry(":method", "GET"), Entry(":method", "POST"), Entry(":path", "/"),
        Entry(":path", "/index.html"), Entry(":scheme", "http"), Entry(":scheme", "https"), Entry(":status", "200"),
        Entry(":status", "204"), Entry(":status", "206"), Entry(":status", "304"), Entry(":status", "400"),
        Entry(":status", "404"), Entry(":status", "500"), Entry("accept-charset"),
        Entry("accept-encoding", "gzip, deflate"), Entry("accept-language"), Entry("accept-ranges"), Entry("accept"),
        Entry("access-control-allow-origin"), Entry("age"), Entry("allow"), Entry("authorization"),
        Entry("cache-control"), Entry("content-disposition"), Entry("content-encoding"), Entry("content-language"),
        Entry("content-length"), Entry("content-location"), Entry("content-range"), Entry("content-type"),
        Entry("cookie"), Entry("date"), Entry("etag"), Entry("expect"), Entry("expires"), Entry("from"), Entry("host"),
        Entry("if-match"), Entry("if-modified-since"), Entry("if-none-match"), Entry("if-range"),
        Entry("if-unmodified-since"), Entry("last-modified"), Entry("link"), Entry("location"), Entry("max-forwards"),
        Entry("proxy-authenticate"), Entry("proxy-authorization"), Entry("range"), Entry("referer"), Entry("refresh"),
        Entry("retry-after"), Entry("server"), Entry("set-cookie"), Entry("strict-transport-security"),
        Entry("transfer-encoding"), Entry("user-agent"), Entry("vary"), Entry("via"), Entry("www-authenticate"),
    ]
}
