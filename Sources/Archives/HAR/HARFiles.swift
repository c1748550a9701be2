/// The bytes of a body that stands in a file of its own.
struct HARFile: Sendable {
    /// How many bytes it has when it is read.
    var count: Int
    /// How many bytes it has as it is stored.
    var storedCount: Int
    /// Whether it stands in a file as it is.
    var isSeekable: Bool
    /// Another text for each state of a file that is not in a zip.
    var state: String?
    /// Reads it from its beginning.
    var open: @Sendable () throws(ArchiveProblem) -> any BodyStream
}

/// Where the files are that a HAR's `_file` names: below its folder, or in its zip.
struct HARFiles: Sendable {
    /// The file at a path that ``HARURL/path(_:)`` has checked; nil where there is none.
    var file: @Sendable (_ path: String) throws(ArchiveProblem) -> HARFile?
    /// Whether such a path is a symbolic link, or leads through one.
    var isLink: @Sendable (_ path: String) -> Bool = { _ in false }

    static func beside(_ input: ArchiveInput) -> HARFiles {
        var files = HARFiles { [sibling = input.sibling] path throws(ArchiveProblem) in
            guard let bytes = sibling(path) else { return nil }
            return HARFile(count: bytes.count, storedCount: bytes.count, isSeekable: true, state: bytes.version) {
                RangeStream(bytes, 0..<bytes.count)
            }
        }
        files.isLink = input.isLink
        return files
    }
}
