import YAML

/// Writes JSON as YAML in one line, in the form in which people write it: `{ sort: name, pages: [1, 2] }`.
enum JSONInYAML {
    /// The most bytes that are written so.
    static let limit = 16_384
    /// How many levels of the list it stands in: the list, an entry, its request.
    private static let levels = 3

    /// - Returns: nil where the text is no JSON, or doesn't read from the YAML as the same bytes.
    static func flow(_ json: [UInt8]) -> [UInt8]? {
        guard let first = json.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "["), json.count <= limit
        else { return nil }
        var scanner = JSONScanner(ArchiveBytes(json))
        var yaml: [UInt8] = []
        do throws(JSONError) {
            guard try write(&scanner, json, into: &yaml), try scanner.isAtEnd() else { return nil }
        } catch {
            return nil
        }
        var limits = YAMLLimits()
        limits.nestingDepth -= levels
        guard let node = try? YAMLNode.parse(yaml, limits: limits), let again = try? node.jsonBytes(), again == json
        else { return nil }
        return yaml
    }

    // The scanner refuses what nests deeper than its limit.
    private static func write(
        _ scanner: inout JSONScanner, _ json: [UInt8], into yaml: inout [UInt8]
    ) throws(JSONError) -> Bool {
        if try scanner.enterObject() {
            yaml.append(UInt8(ascii: "{"))
            var isFirst = true
            while let name = try scanner.nextMember() {
                guard let key = YAMLText.key(Array(name)) else { return false }
                yaml += Array((isFirst ? " " : ", ").utf8) + key + Array(": ".utf8)
                isFirst = false
                guard try write(&scanner, json, into: &yaml) else { return false }
            }
            yaml += Array((isFirst ? "}" : " }").utf8)
            return true
        }
        if try scanner.enterArray() {
            yaml.append(UInt8(ascii: "["))
            var isFirst = true
            while try scanner.nextElement() {
                if !isFirst { yaml += Array(", ".utf8) }
                isFirst = false
                guard try write(&scanner, json, into: &yaml) else { return false }
            }
            yaml.append(UInt8(ascii: "]"))
            return true
        }
        if try scanner.significant() == UInt8(ascii: "\"") {
            guard let text = try scanner.string().map({ Array($0) }), !scanner.isCut,
                let scalar = YAMLText.scalar(text, in: .flow, keepsType: true)
            else { return false }
            yaml += scalar
            return true
        }
        let start = scanner.offset
        try scanner.skipValue()
        yaml += json[start..<scanner.offset]
        return true
    }
}
