/// How much of a message is taken before it is refused; sizes are in bytes.
public struct MessageLimits: Sendable, Equatable {
    /// Field lines and the empty line after them, line ends included. The default is 64 KiB.
    public var headerSectionBytes: Int
    /// Field lines of a header section. The default is 200.
    public var fieldCount: Int
    /// The request target. The default is 32 KiB.
    public var targetBytes: Int
    /// The request method. The default is 64.
    public var methodBytes: Int
    /// The reason phrase of a status line. The default is 1 KiB.
    public var reasonBytes: Int
    /// Trailer lines and the empty line after them, line ends included. The default is 16 KiB.
    public var trailerSectionBytes: Int
    /// Field lines of a trailer section. The default is 64.
    public var trailerFieldCount: Int
    /// The chunk extensions of one message, taken together. The default is 16 KiB.
    public var chunkExtensionBytes: Int

    public init(
        headerSectionBytes: Int = 64 << 10, fieldCount: Int = 200, targetBytes: Int = 32 << 10, methodBytes: Int = 64,
        reasonBytes: Int = 1 << 10, trailerSectionBytes: Int = 16 << 10, trailerFieldCount: Int = 64,
        chunkExtensionBytes: Int = 16 << 10
    ) {
        self.headerSectionBytes = headerSectionBytes
        self.fieldCount = fieldCount
        self.targetBytes = targetBytes
        self.methodBytes = methodBytes
        self.reasonBytes = reasonBytes
        self.trailerSectionBytes = trailerSectionBytes
        self.trailerFieldCount = trailerFieldCount
        self.chunkExtensionBytes = chunkExtensionBytes
    }
}
