/// Where a zip's directory is, as the end of the file says.
struct ZipEnd: Equatable {
    var count: Int
    var offset: Int
    var size: Int

    /// - Throws: ``ArchiveProblem`` where there is no such end, or it can't be.
    init(of bytes: ArchiveBytes) throws(ArchiveProblem) {
        // Behind the end record there is at most a comment of 65,535 bytes (APPNOTE.TXT §4.3.16).
        let start = max(0, bytes.count - 65_557)
        let tail = try bytes.read(at: start, upTo: bytes.count - start)
        guard let position = ZipEnd.find(tail) else {
            throw ArchiveProblem(
                .error, "the zip has no directory: it is cut short, or no zip", at: .offset(bytes.count))
        }
        let record = LittleEndian(tail[position...])
        var values = (
            count: record.number(10, 2), size: record.number(12, 4), offset: record.number(16, 4),
            disks: record.number(4, 2) | record.number(6, 2)
        )
        let isLarge = values.count == 0xFFFF || values.size == 0xFFFF_FFFF || values.offset == 0xFFFF_FFFF
        var end = start + position
        if isLarge, let large = try ZipEnd.large(bytes, before: end) {
            let record = LittleEndian(large.record)
            values = (record.long(32), record.long(40), record.long(48), record.number(16, 4) | record.number(20, 4))
            end = large.offset
        }
        guard values.disks == 0 else { throw .error("the zip is in several parts", at: end) }
        guard values.count <= ZipDirectory.mostNames else {
            throw .error("the zip has more than \(ZipDirectory.mostNames) files", at: end)
        }
        guard let offset = Int(exactly: values.offset), let size = Int(exactly: values.size), offset <= end,
            size <= end - offset
        else { throw .error("the zip's directory is beyond the file", at: end) }
        self.count = Int(values.count)
        self.offset = offset
        self.size = size
    }

    /// The last end record whose comment is as long as it says.
    private static func find(_ tail: [UInt8]) -> Int? {
        guard tail.count >= 22 else { return nil }
        for position in (0...tail.count - 22).reversed() where tail[position] == UInt8(ascii: "P") {
            let record = LittleEndian(tail[position...])
            guard record.word(0) == 0x0605_4B50 else { continue }
            if position + 22 + Int(record.short(20)) == tail.count { return position }
        }
        return nil
    }

    /// The end record of zip64, which a locator before the other leads to (APPNOTE.TXT §4.3.14, §4.3.15).
    private static func large(
        _ bytes: ArchiveBytes, before end: Int
    ) throws(ArchiveProblem) -> (record: [UInt8], offset: Int)? {
        guard end >= 20 else { return nil }
        let locator = LittleEndian(try bytes.read(end - 20..<end))
        guard locator.word(0) == 0x0706_4B50 else { return nil }
        guard let offset = Int(exactly: locator.long(8)), offset <= end - 20, end - 20 - offset >= 56 else {
            throw .error("the zip's directory is beyond the file", at: end - 20)
        }
        let record = try bytes.read(offset..<offset + 56)
        guard LittleEndian(record).word(0) == 0x0606_4B50 else {
            throw .error("the zip's directory is damaged", at: offset)
        }
        return (record, offset)
    }
}
