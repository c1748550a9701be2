import HTTP1Invariants
import HTTPCaching
import HTTPSemantics

/// Properties of the parsers of field values.
enum FieldInvariants {
    static func check(_ bytes: [UInt8]) throws {
        let elements = try checkList(bytes)
        try checkDirectives(bytes, elements)
        try checkEncodings(bytes, elements)
        try bytes.withUnsafeBytes { bytes in
            try checkDate(bytes)
            try checkTags(bytes)
            try checkType(bytes)
            try checkParameter(bytes)
        }
        for element in elements { try element.withUnsafeBytes { try checkParameter($0) } }
        let string = StructuredString.bytes(bytes)
        try require(string.allSatisfy { 0x20...0x7e ~= $0 }, "string \(string)")
    }

    static func section(_ name: String, _ values: [[UInt8]]) -> FieldSection {
        var section = FieldSection()
        for value in values { section.append(name: name.utf8, value: value) }
        return section
    }

    private static func list(_ bytes: [UInt8]) -> [[UInt8]] {
        bytes.withUnsafeBytes { value in FieldListElements(value).map { Array($0) } }
    }

    /// A list is what its elements are, joined or alone.
    private static func checkList(_ bytes: [UInt8]) throws -> [[UInt8]] {
        let elements = list(bytes)
        try require(list(Array(elements.joined(separator: [0x2c, 0x20]))) == elements, "joined \(elements)")
        for element in elements {
            try require(!element.isEmpty && list(element) == [element], "element \(element)")
        }
        return elements
    }

    /// It makes no difference whether directives come in one line or in several, and in a request in which order.
    private static func checkDirectives(_ bytes: [UInt8], _ elements: [[UInt8]]) throws {
        let asked = RequestCacheControl(section("Cache-Control", [bytes]))
        if !elements.isEmpty {
            try require(RequestCacheControl(section("Cache-Control", elements)) == asked, "by lines: \(asked)")
            try require(
                RequestCacheControl(section("cache-control", elements.reversed())) == asked, "reversed: \(asked)")
        }
        let bounds = [asked.maxAge, asked.minFresh, asked.staleIfError].compactMap { $0 }
        try require(bounds.allSatisfy { $0 <= 1 << 31 }, "\(asked)")
        for policy in [CachePolicy(), CachePolicy(mode: .private, targetedFields: [Array("cdn-cache-control".utf8)])] {
            for name in ["Cache-Control", "CDN-Cache-Control"] {
                let directives = ResponseDirectives(section(name, [bytes]), policy: policy)
                for argument in [directives.maxAge, directives.sMaxAge] {
                    guard case .seconds(let seconds) = argument else { continue }
                    try require(0...(1 << 31) ~= seconds, "\(directives)")
                }
                let staleness = [directives.staleIfError, directives.staleWhileRevalidate].compactMap { $0 }
                try require(staleness.allSatisfy { 0...(1 << 31) ~= $0 }, "\(directives)")
            }
            let whole = ResponseDirectives(section("Cache-Control", [bytes]), policy: policy)
            let lines = ResponseDirectives(section("Cache-Control", elements), policy: policy)
            try require(whole == lines, "\(whole) by lines: \(lines)")
        }
    }

    private static func checkEncodings(_ bytes: [UInt8], _ elements: [[UInt8]]) throws {
        let accepted = AcceptEncoding(section("Accept-Encoding", [bytes]))
        try require(AcceptEncoding(section("Accept-Encoding", elements.reversed())) == accepted, "\(accepted)")
        try require(ContentCoding.allCases.allSatisfy { 0...1000 ~= accepted.weight(of: $0) }, "\(accepted)")
        for rawValue in UInt8(0)..<32 {
            let available = ContentCodingSet(rawValue: rawValue)
            let chosen = accepted.preferred(among: available)
            let isFit = available.contains(ContentCodingSet(chosen)) && accepted.weight(of: chosen) > 0
            try require(chosen == .identity || isFit, "\(chosen) of \(available) by \(accepted)")
        }
        _ = AcceptPreference.prefersHTML(section("Accept", [bytes]))
        _ = CORS.requestedFieldNames(section("Access-Control-Request-Headers", [bytes]))
        let name = Array("subproxy-00000000".utf8)
        let via = section("Via", [Via.entry(.http1_1, pseudonym: name), bytes])
        try require(name.withUnsafeBytes { Via.contains(pseudonym: $0, in: via) }, "an entry of Via is lost")
    }

    private static func checkDate(_ bytes: UnsafeRawBufferPointer) throws {
        for now in [Int64.min, 0, 1_795_000_000, .max] {
            guard let date = HTTPDate.parse(bytes, now: now) else { continue }
            try require(-62_167_219_200...253_402_300_800 ~= date, "date \(date)")
            guard date < 253_402_300_800 else { continue }
            let again = HTTPDate.bytes(date).withUnsafeBytes { HTTPDate.parse($0, now: now) }
            try require(again == date, "\(date) again: \(String(describing: again))")
        }
    }

    private static func checkTags(_ bytes: UnsafeRawBufferPointer) throws {
        func written(_ tag: EntityTag) -> [UInt8] {
            (tag.isWeak ? [0x57, 0x2f] : []) + [0x22] + Array(tag.opaqueTag) + [0x22]
        }
        let tags = EntityTagList(bytes).map(written)
        let again = Array(tags.joined(separator: [0x2c])).withUnsafeBytes { EntityTagList($0).map(written) }
        try require(again == tags, "tags \(tags) again: \(again)")
        guard let tag = EntityTag(bytes) else { return }
        try require(written(tag) == Array(bytes) && tags == [written(tag)], "tag \(written(tag))")
        try require(tag.matchesWeakly(tag) && tag.matchesStrongly(tag) != tag.isWeak, "tag \(written(tag))")
    }

    private static func checkType(_ bytes: UnsafeRawBufferPointer) throws {
        guard let type = MediaType(bytes) else { return }
        try require(type.bytes.withUnsafeBytes { MediaType($0) } == type, "type \(type.description)")
        try require(type.bytes.allSatisfy { $0.isMember(of: .fieldValue) }, "type \(type.bytes)")
    }

    private static func checkParameter(_ bytes: UnsafeRawBufferPointer) throws {
        let item = ParameterisedItem(bytes)
        if let weight = item.weight { try require(0...1000 ~= weight, "weight \(weight)") }
        guard let parameter = FieldParameter(bytes) else { return }
        let name = Array(parameter.name)
        try require(!name.isEmpty && name.allSatisfy { $0.isMember(of: .token) }, "name \(name)")
        guard let value = parameter.unescapedValue else { return }
        let quoted = value.flatMap { $0 == 0x22 || $0 == 0x5c ? [0x5c, $0] : [$0] }
        let again = (name + [0x3d, 0x22] + quoted + [0x22]).withUnsafeBytes { FieldParameter($0)?.unescapedValue }
        try require(again == value, "value \(value) again: \(String(describing: again))")
    }
}
