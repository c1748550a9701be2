import Glibc

/// Finds lines and columns of offsets in a text that is read in pieces.
///
/// Columns are counted in characters (Unicode scalars), as in maps; a byte-order mark is none.
struct TextPlaces {
    private let source: ArchiveBytes
    private var offset = 0
    private var line = 1
    private var column = 1

    init(_ source: ArchiveBytes) { self.source = source }

    /// The place of an offset. Takes time in proportion to the text between it and the one that was asked for before,
    /// or before it.
    mutating func place(of target: Int) throws(ArchiveProblem) -> ArchiveProblem.Place {
        if target < offset { (offset, line, column) = (0, 1, 1) }
        while offset < target {
            let bytes = try source.read(at: offset, upTo: min(1 << 16, target - offset))
            guard !bytes.isEmpty else { break }
            bytes.withUnsafeBytes { advance($0) }
            offset += bytes.count
        }
        return .line(line, column: column)
    }

    private mutating func advance(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        if offset == 0, rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        while let feed = rest.firstIndex(of: 0x0A) {
            line += 1
            column = 1
            rest = rest[(feed + 1)...]
        }
        var characters = 0
        for byte in rest where byte & 0xC0 != 0x80 { characters &+= 1 }
        column += characters
    }
}

extension ArchiveProblem {
    /// Where in the file it is, as an offset.
    var offset: Int? {
        if case .offset(let offset) = place { offset } else { nil }
    }
}
