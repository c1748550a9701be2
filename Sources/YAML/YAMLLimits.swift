/// What a YAML source may cost at most; whatever exceeds a limit is refused with a ``YAMLError``.
public struct YAMLLimits: Sendable, Hashable {
    /// The size of the source in bytes. The default is 256 MiB; more than 2 GiB − 1 can't be allowed.
    public var inputBytes: Int {
        didSet { inputBytes = min(inputBytes, Self.largestInput) }
    }
    /// How deep sequences and mappings may nest. The default is 64; more than 512 can't be allowed, since trees are
    /// built, read and freed by recursion.
    public var nestingDepth: Int {
        didSet { nestingDepth = min(nestingDepth, Self.deepestNesting) }
    }
    /// The length of one scalar in bytes, after escapes and folding. The default is 16 MiB.
    public var scalarBytes: Int
    /// The number of nodes in one tree that ``YAMLEventParser/node(startingWith:)`` builds. The default is 4,000,000.
    /// Reading events has no such limit.
    public var treeNodes: Int

    private static let largestInput = Int(Int32.max)
    private static let deepestNesting = 512

    public init(
        inputBytes: Int = 256 << 20, nestingDepth: Int = 64, scalarBytes: Int = 16 << 20, treeNodes: Int = 4_000_000
    ) {
        self.inputBytes = min(inputBytes, Self.largestInput)
        self.nestingDepth = min(nestingDepth, Self.deepestNesting)
        self.scalarBytes = scalarBytes
        self.treeNodes = treeNodes
    }
}
