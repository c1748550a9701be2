/// A map that can be read only once, as standard input or a pipe can, with what was read of it.
///
/// It is no file: nothing watches it, and what it names counts from the working directory.
public struct MapStream: Sendable {
    /// How messages name it: `<stdin>`, or the path that was given.
    public var name: String
    public var contents: Result<MapFileContents, MapFileError>

    public init(name: String, contents: Result<MapFileContents, MapFileError>) {
        self.name = name
        self.contents = contents
    }
}
