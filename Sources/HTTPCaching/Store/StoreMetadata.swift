/// What a store keeps of a response beside its content.
public protocol StoreMetadata: Sendable {
    /// Bytes of memory that the value refers to beside its own: fields, reason phrase, entity tag. They are charged to
    /// the store's budget, so that many small responses with long fields are bounded too. A negative number counts as
    /// 0.
    var memoryCost: Int { get }
}
