/// A content coding that a representation is kept in (RFC 9110 §8.4.1).
public enum ContentCoding: UInt8, Sendable, CaseIterable {
    // In the order of preference where a client has none: the smallest result first.
    case brotli, zstandard, gzip, deflate, identity

    /// The name as it stands in Content-Encoding.
    public var name: StaticString {
        switch self {
        case .brotli: "br"
        case .zstandard: "zstd"
        case .gzip: "gzip"
        case .deflate: "deflate"
        case .identity: "identity"
        }
    }

    /// Recognises a coding, ASCII case ignored; `x-gzip` is gzip.
    public init?(_ name: UnsafeRawBufferPointer) {
        switch name.count {
        case 2 where name.equalsIgnoringCase("br"): self = .brotli
        case 4 where name.equalsIgnoringCase("zstd"): self = .zstandard
        case 4 where name.equalsIgnoringCase("gzip"): self = .gzip
        case 6 where name.equalsIgnoringCase("x-gzip"): self = .gzip
        case 7 where name.equalsIgnoringCase("deflate"): self = .deflate
        case 8 where name.equalsIgnoringCase("identity"): self = .identity
        default: return nil
        }
    }
}

/// A set of content codings: those that a representation is there in.
public struct ContentCodingSet: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public init(_ coding: ContentCoding) { rawValue = 1 << coding.rawValue }

    public static let brotli = ContentCodingSet(.brotli)
    public static let zstandard = ContentCodingSet(.zstandard)
    public static let gzip = ContentCodingSet(.gzip)
    public static let deflate = ContentCodingSet(.deflate)
    public static let identity = ContentCodingSet(.identity)
}

/// Which content codings a client accepts, by its Accept-Encoding (RFC 9110 §12.5.3).
///
/// Read in one pass without allocation. Elements whose weight is malformed are ignored; of a coding that is named twice
/// the lower weight counts. Without the field only identity is accepted, since a client that says nothing may decode
/// nothing.
public struct AcceptEncoding: Sendable, Equatable {
    private var weights = InlineArray<5, Int16>(repeating: -1)
    private var anyWeight: Int16 = -1

    public init(_ fields: FieldSection) {
        guard fields.contains(.acceptEncoding) else { return }
        fields.forEach(.acceptEncoding) { add($0) }
    }

    /// Reads one line's value.
    public init(_ value: UnsafeRawBufferPointer) { add(value) }

    private mutating func add(_ value: UnsafeRawBufferPointer) {
        for element in FieldListElements(value) {
            let item = ParameterisedItem(element)
            guard let weight = item.weight.map({ Int16(truncatingIfNeeded: $0) }) else { continue }
            if item.item.equals("*") {
                anyWeight = anyWeight < 0 ? weight : min(anyWeight, weight)
            } else if let coding = ContentCoding(item.item) {
                let index = Int(coding.rawValue)
                weights[index] = weights[index] < 0 ? weight : min(weights[index], weight)
            }
        }
    }

    /// The weight of a coding in thousandths; 0 where it is not acceptable.
    ///
    /// Identity that is not named has 0 too, because anything that is named is preferred to it (RFC 9110 §12.5.3).
    public func weight(of coding: ContentCoding) -> Int {
        let named = weights[Int(coding.rawValue)]
        if named >= 0 { return Int(named) }
        if anyWeight >= 0 { return Int(anyWeight) }
        return 0
    }

    /// The weight of codings that are there together, in thousandths, that of the one that is accepted least; 0 where
    /// one is not acceptable. They need not be known; `*` stands for those that are not named (RFC 9110 §12.5.3).
    ///
    /// - Parameter names: in lower case.
    public static func weight(ofAll names: [String], _ fields: FieldSection) -> Int {
        var weights: [String: Int] = [:]
        fields.forEach(.acceptEncoding) { value in
            for element in FieldListElements(value) {
                let item = ParameterisedItem(element)
                guard let weight = item.weight else { continue }
                let name = common(String(decoding: item.item, as: UTF8.self).lowercased())
                weights[name] = min(weight, weights[name] ?? weight)
            }
        }
        return names.map { weights[common($0)] ?? weights["*"] ?? 0 }.min() ?? 0
    }

    /// `x-gzip` and `x-compress` are the same as the names without `x-` (RFC 9110 §8.4.1).
    private static func common(_ name: String) -> String {
        switch name {
        case "x-gzip": "gzip"
        case "x-compress": "compress"
        default: name
        }
    }

    /// The coding to send: the acceptable one of `available` that has the highest weight; of equal ones the one whose
    /// result is smallest.
    ///
    /// Identity if nothing else is acceptable, even if the client refuses that too: an answer is worth more than a
    /// 406 (RFC 9110 §12.5.3 allows it).
    public func preferred(among available: ContentCodingSet) -> ContentCoding {
        var best = ContentCoding.identity
        var bestWeight = weight(of: .identity)
        for coding in ContentCoding.allCases where coding != .identity && available.contains(ContentCodingSet(coding)) {
            let candidate = weight(of: coding)
            if candidate > bestWeight || (candidate == bestWeight && candidate > 0 && best == .identity) {
                best = coding
                bestWeight = candidate
            }
        }
        return best
    }

    public static func == (lhs: AcceptEncoding, rhs: AcceptEncoding) -> Bool {
        lhs.anyWeight == rhs.anyWeight && lhs.weights.indices.allSatisfy { lhs.weights[$0] == rhs.weights[$0] }
    }
}
