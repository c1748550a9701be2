import Archives

/// A map that can be read only once, as standard input or a pipe can, with what was read of it; or an archive.
///
/// It is no file: nothing watches it, and what it names counts from the working directory.
public struct MapStream: Sendable {
    /// How messages name it: `<stdin>`, or the path that was given.
    public var name: String
    /// What a map says, or why it can't be read; empty for an archive.
    public var contents: Result<MapFileContents, MapFileError>
    /// The archive that it is, in a file without a name; nil for a map.
    var archive: ArchiveFile?

    public init(name: String, contents: Result<MapFileContents, MapFileError>) {
        self.name = name
        self.contents = contents
    }

    /// What was read to its end, of which the first bytes tell whether it is an archive.
    public init(name: String, bytes: [UInt8]) {
        self.init(name: name, contents: .success(MapFileContents(bytes: [])))
        guard ArchiveInput(name: name, bytes: ArchiveBytes(bytes)).isArchive else {
            contents = .success(MapFileContents(bytes: bytes))
            return
        }
        let folder = PathText.joined("", MapFileSystem.system.absolutePath(""))
        do throws(MapFileError) {
            archive = try ArchiveFile(contents: bytes, folder: folder)
        } catch {
            contents = .failure(error)
        }
    }
}
