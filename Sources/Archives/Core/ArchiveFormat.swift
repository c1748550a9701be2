/// A format of archives that are read.
public enum ArchiveFormat: String, Sendable, CaseIterable {
    case har, mhtml, webarchive, warc, wacz, recording
}

extension ArchiveFormat {
    /// Reads the index of a file of this format: the one list of readers.
    func read(_ input: ArchiveInput, into contents: inout ArchiveContents) throws(ArchiveProblem) -> any ArchiveReader {
        switch self {
        case .har: return try HARReader.read(input, into: &contents)
        case .mhtml: return try MHTMLReader.read(input, into: &contents)
        case .webarchive: return try WebarchiveReader.read(input, into: &contents)
        case .warc: return try WARCReader(input, into: &contents)
        case .wacz: return try WACZReader(input, into: &contents)
        case .recording: return try RecordingReader.read(input, into: &contents)
        }
    }
}
