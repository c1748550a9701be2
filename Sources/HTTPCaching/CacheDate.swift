import HTTPSemantics

/// Reads the dates that freshness is calculated from (RFC 9111 §4.2).
///
/// The three forms of HTTP-date, letters in any case; any zone but `GMT` makes a date invalid.
enum CacheDate {
    /// The date in the first line of `name`; nil where there is none or it is malformed.
    static func first(_ name: FieldName, in fields: FieldSection, now: Int64) -> Int64? {
        fields.withFirst(name) { parse($0, now: now) } ?? nil
    }

    /// Unix seconds, or nil. `now`, Unix seconds too, is for years of two digits.
    static func parse(_ bytes: UnsafeRawBufferPointer, now: Int64) -> Int64? {
        let bytes = bytes.trimmingOptionalWhitespace
        if let date = HTTPDate.parse(bytes, now: now) { return date }
        // Shorter or longer ones are no date in any case of letters.
        guard (24...33).contains(bytes.count) else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: 1) { usual in
            var isInWord = false
            for (index, byte) in bytes.enumerated() {
                let isLetter = byte.isMember(of: .alpha)
                usual[index] = isLetter ? (isInWord ? byte | 0x20 : byte & 0xdf) : byte
                isInWord = isLetter
            }
            let zone = bytes.count &- 3
            let last = UnsafeRawBufferPointer(rebasing: bytes[zone...])
            if last.equalsIgnoringCase("gmt") {
                (usual[zone], usual[zone &+ 1], usual[zone &+ 2]) = (0x47, 0x4d, 0x54)
            }
            return HTTPDate.parse(UnsafeRawBufferPointer(usual), now: now)
        }
    }
}
