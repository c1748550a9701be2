import HTTPSemantics

/// The name of a response directive that this cache knows.
enum DirectiveName: UInt8, CaseIterable {
    case noStore, noCache, isPrivate, isPublic, maxAge, sMaxAge, mustRevalidate, proxyRevalidate, mustUnderstand
    case noTransform, immutable, staleWhileRevalidate, staleIfError

    /// Recognises a name, ASCII case ignored.
    init?(_ bytes: UnsafeRawBufferPointer) {
        switch bytes.count {
        case 6 where bytes.equalsIgnoringCase("public"): self = .isPublic
        case 7 where bytes.equalsIgnoringCase("max-age"): self = .maxAge
        case 7 where bytes.equalsIgnoringCase("private"): self = .isPrivate
        case 8 where bytes.equalsIgnoringCase("no-cache"): self = .noCache
        case 8 where bytes.equalsIgnoringCase("no-store"): self = .noStore
        case 8 where bytes.equalsIgnoringCase("s-maxage"): self = .sMaxAge
        case 9 where bytes.equalsIgnoringCase("immutable"): self = .immutable
        case 12 where bytes.equalsIgnoringCase("no-transform"): self = .noTransform
        case 14 where bytes.equalsIgnoringCase("stale-if-error"): self = .staleIfError
        case 15 where bytes.equalsIgnoringCase("must-revalidate"): self = .mustRevalidate
        case 15 where bytes.equalsIgnoringCase("must-understand"): self = .mustUnderstand
        case 16 where bytes.equalsIgnoringCase("proxy-revalidate"): self = .proxyRevalidate
        case 22 where bytes.equalsIgnoringCase("stale-while-revalidate"): self = .staleWhileRevalidate
        default: return nil
        }
    }

    /// Whether the directive only restricts caches, and never allows them anything.
    var isRestrictive: Bool { self == .noStore || self == .noCache || self == .isPrivate }
}

/// What stands behind the `=` of a directive.
enum DirectiveArgument {
    case none
    /// A token, or what is between the quotes of a quoted string.
    case text(UnsafeRawBufferPointer)
    /// An Integer of a structured field.
    case integer(Int64)
    /// Something that the grammar doesn't allow there.
    case malformed
}
