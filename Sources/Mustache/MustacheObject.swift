/// A value whose members are made when a template asks for them, such as what there is of a request.
public protocol MustacheObject: AnyObject, Sendable {
    /// The value of a name, or nil where there is none. It is asked for each time that a template uses it.
    func member(named name: [UInt8]) -> MustacheValue?

    /// All of its members as a mapping, for printing.
    var whole: MustacheMapping { get }
}
