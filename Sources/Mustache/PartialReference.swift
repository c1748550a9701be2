/// A partial or parent that a template names, at the first place where it does.
public struct PartialReference: Sendable, Hashable {
    /// The name as it is written, `header` in `{{> header }}`.
    public let name: String
    /// The tag in the template's bytes.
    public let range: Range<Int>
}
