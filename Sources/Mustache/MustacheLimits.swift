/// What templates may cost at most; whatever exceeds a limit is a ``TemplateError``.
public struct MustacheLimits: Sendable, Hashable {
    /// The size of one template in bytes. The default is 1 MiB; more than 1 GiB can't be allowed.
    public var templateBytes: Int
    /// How deep sections, blocks and parents may nest in a template. The default is 256.
    public var sectionDepth: Int
    /// How deep partials and parents may call each other. The default is 32.
    public var partialDepth: Int
    /// How many different templates a page may consist of. The default is 1000.
    public var partialCount: Int
    /// The size of a page in bytes: of all its different templates together. The default is 16 MiB.
    public var pageBytes: Int
    /// How many tags one rendering may carry out, each repetition of a section among them. The default is ten million.
    public var tags: Int
    /// The size of what one rendering writes, in bytes. The default is 16 MiB.
    public var answerBytes: Int
    /// How many levels a value may have that is printed as JSON. The default is 128; more than 256 can't be allowed,
    /// since values are printed by recursion.
    public var valueDepth: Int

    public init(
        templateBytes: Int = 1 << 20, sectionDepth: Int = 256, partialDepth: Int = 32, partialCount: Int = 1000,
        pageBytes: Int = 16 << 20, tags: Int = 10_000_000, answerBytes: Int = 16 << 20, valueDepth: Int = 128
    ) {
        self.templateBytes = min(templateBytes, 1 << 30)
        self.sectionDepth = sectionDepth
        self.partialDepth = partialDepth
        self.partialCount = partialCount
        self.pageBytes = pageBytes
        self.tags = tags
        self.answerBytes = answerBytes
        self.valueDepth = min(valueDepth, 256)
    }
}
