import Diagnostics
import HTTP1Invariants
import Mustache

/// Properties of templates, whatever bytes they are read from and whatever values they print.
enum TemplateInvariants {
    /// - Parameter bytes: The first byte chooses the escaping; behind it stands the page, and after bytes of 0xFF,
    ///   which no template has, the partials `p` and `q`.
    static func check(_ bytes: [UInt8]) throws {
        let escaping: MustacheEscaping = [.html, .json, .none][Int(bytes.first ?? 0) % 3]
        let texts = bytes.dropFirst().split(separator: 0xFF, maxSplits: 2, omittingEmptySubsequences: false)
        let limits = MustacheLimits(tags: 20_000, answerBytes: 1 << 16, valueDepth: 8)
        let outcome = render(texts.map { Array($0) }, escaping, limits)
        switch outcome {
        case .failure(let error): try check(error)
        case .success(let (page, output)):
            try check(output, of: page, escaping, limits)
            try checkUses(of: page)
            let again = try page.render(values, escaping: escaping)
            try require(again == output, "another rendering the second time")
        }
    }

    private static func render(
        _ texts: [[UInt8]], _ escaping: MustacheEscaping, _ limits: MustacheLimits
    ) -> Result<(MustachePage, [UInt8]), TemplateError> {
        do throws(TemplateError) {
            let root = try MustacheTemplate.parse(texts.first ?? [], file: "page", limits: limits)
            let page = try MustachePage(root, limits: limits) { reference, _ throws(TemplateError) in
                guard let index = ["page", "p", "q"].firstIndex(of: reference.name), index < texts.count else {
                    return nil
                }
                return try MustacheTemplate.parse(texts[index], file: reference.name, limits: limits)
            }
            return .success((page, try page.render(values, escaping: escaping)))
        } catch {
            return .failure(error)
        }
    }

    /// A message has a place, and nothing in it drives a terminal.
    private static func check(_ error: TemplateError) throws {
        let isVisible = error.rendering.unicodeScalars.allSatisfy { scalar in
            scalar == "\n" || scalar == "\t" || (scalar.value >= 0x20 && !(0x7f...0x9f ~= scalar.value))
        }
        try require(isVisible, "rendering \(Array(error.rendering.utf8))")
        let isWhole = error.rendering.split(separator: "\n", omittingEmptySubsequences: false).count == 3
        try require(isWhole || error.rendering.contains("bytes; at most"), "no place in \(error.rendering)")
    }

    private static func check(
        _ output: [UInt8], of page: MustachePage, _ escaping: MustacheEscaping, _ limits: MustacheLimits
    ) throws {
        try require(output.count <= limits.answerBytes, "\(output.count) bytes")
        try require(String(validating: output, as: UTF8.self) != nil, "what is rendered is no UTF-8")
        // No template has this byte in what follows, so that it comes from a value.
        guard !page.templates.contains(where: { $0.source.contains(marker) }) else { return }
        switch escaping {
        case .html:
            guard !page.uses().contains(where: { $0.kind == .raw }) else { return }
            for character in hostile {
                let isWithin = zip(output, output.dropFirst()).contains { $0 == character && $1 == marker }
                try require(!isWithin, "a value's \(Character(Unicode.Scalar(character))) is not escaped")
            }
        case .json: try require(!output.contains(marker), "a value's control character is not escaped")
        case .none: break
        }
    }

    private static func checkUses(of page: MustachePage) throws {
        let paths = page.paths(from: "request")
        for use in page.uses() {
            let source = page.templates[use.template].source
            let (start, end) = (use.span.start.offset, use.span.end.offset)
            try require(start < end && end <= source.count, "place \(start)..<\(end)")
            try require(use.path.first != "request" || paths.contains(use.path), "path \(use.path) is left out")
            try require(!use.isOutsideSections || use.sections.isEmpty, "\(use.path) is outside, and is not")
        }
    }

    private static let marker: UInt8 = 1
    private static let hostile = Array("<>&\"'".utf8)

    private static let values: [MustacheValue] = {
        let text = MustacheValue.text(hostile.flatMap { [$0, marker] } + Array("\n\u{2028}é{{x}}".utf8))
        let names = ["a", "b", "c"].map { Array($0.utf8) }
        let rows = MustacheRows(columns: names, cells: [.integer(1), text, .null, .real(2.5), .text(""), .bool(true)])
        var deep = MustacheValue.integer(1)
        for _ in 0..<10 { deep = .mapping(MustacheMapping(["d": deep, "a": text])) }
        let request = MustacheValue.mapping(
            MustacheMapping(["url": text, "query": .mapping(MustacheMapping(["x": text]))]))
        let mapping = MustacheMapping([
            "x": text, "a": .mapping(MustacheMapping(["b": text, "x": .null])),
            "l": .list([.list([text, .integer(0)]), text]),
            "r": .rows(rows), "o": .integer(0), "n": .null, "t": .bool(true), "d": deep,
        ])
        return [.mapping(MustacheMapping(["request": request])), .mapping(mapping)]
    }()
}
