import HTTPSemantics

/// The Cache-Control field of responses (RFC 9111 §5.2, §5.2.2).
extension ResponseDirectives {
    /// The number of seconds that all larger ones count as (RFC 9111 §1.2.2).
    static let largestDelta: Int64 = 1 << 31

    /// Adds the directives of one Cache-Control line.
    mutating func addCacheControl(_ value: UnsafeRawBufferPointer) {
        for element in FieldListElements(value) {
            if let directive = FieldParameter(element) {
                guard let name = DirectiveName(directive.name) else { continue }
                add(name, directive.value.map { .text($0) } ?? .none)
            } else {
                addMalformed(element)
            }
        }
    }

    /// Adds the directives that count in an element that is not `token [ "=" ( token / quoted-string ) ]`.
    ///
    /// A known name before a `=` counts with a malformed argument. Anywhere in the element the directives that keep
    /// responses from being stored count: the origin meant `private; max-age=60`, and behind a quote that is never
    /// closed other recipients may see them.
    private mutating func addMalformed(_ element: UnsafeRawBufferPointer) {
        if let equals = element.firstIndex(of: UInt8(ascii: "=")) {
            let name = UnsafeRawBufferPointer(rebasing: element[0..<equals]).trimmingOptionalWhitespace
            if let known = DirectiveName(name) { add(known, .malformed) }
        }
        var start = 0
        for index in 0...element.count where index == element.count || !element[index].isMember(of: .token) {
            let word = UnsafeRawBufferPointer(rebasing: element[start..<index])
            if let known = DirectiveName(word), known.isRestrictive { add(known, .none) }
            start = index &+ 1
        }
    }

    /// Adds one directive; directives that have no argument by definition count whether or not they are given one.
    mutating func add(_ name: DirectiveName, _ argument: DirectiveArgument) {
        switch name {
        case .noStore: noStore = true
        case .noCache: noCache = ResponseDirectives.narrower(noCache, ResponseDirectives.restriction(argument))
        case .isPrivate: isPrivate = ResponseDirectives.narrower(isPrivate, ResponseDirectives.restriction(argument))
        case .isPublic: isPublic = true
        case .maxAge: maxAge = maxAge ?? ResponseDirectives.seconds(argument).map { .seconds($0) } ?? .invalid
        case .sMaxAge: sMaxAge = sMaxAge ?? ResponseDirectives.seconds(argument).map { .seconds($0) } ?? .invalid
        case .mustRevalidate: mustRevalidate = true
        case .proxyRevalidate: proxyRevalidate = true
        case .mustUnderstand: mustUnderstand = true
        case .noTransform: noTransform = true
        case .immutable: immutable = true
        case .staleWhileRevalidate:
            staleWhileRevalidate = staleWhileRevalidate ?? ResponseDirectives.seconds(argument)
        case .staleIfError: staleIfError = staleIfError ?? ResponseDirectives.seconds(argument)
        }
    }

    /// A non-negative integer, at most 2³¹; nil for anything else.
    private static func seconds(_ argument: DirectiveArgument) -> Int64? {
        switch argument {
        case .text(let bytes): RequestCacheControl.deltaSeconds(bytes).map { Int64($0) }
        case .integer(let value): value >= 0 ? min(value, largestDelta) : nil
        case .none, .malformed: nil
        }
    }

    /// The field names of `no-cache` or `private`; the whole response where there are none, one of them is no token, or
    /// they are too many.
    private static func restriction(_ argument: DirectiveArgument) -> Restriction {
        guard case .text(let list) = argument else { return .all }
        var names: [[UInt8]] = []
        for element in FieldListElements(list) {
            guard element.isToken, names.count < Restriction.maximumNames else { return .all }
            names.append(element.map(\.asciiLowercased))
        }
        return names.isEmpty ? .all : .fields(names)
    }

    private static func narrower(_ one: Restriction?, _ other: Restriction) -> Restriction {
        guard let one else { return other }
        guard case .fields(let some) = one, case .fields(let more) = other,
            some.count &+ more.count <= Restriction.maximumNames
        else { return .all }
        return .fields(some + more)
    }
}
