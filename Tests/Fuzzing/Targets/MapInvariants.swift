import Diagnostics
import HTTP1Invariants
import HTTPSemantics
import NIOCore
import Substitution
import YAML

/// Properties of maps, whatever bytes they are loaded from.
enum MapInvariants {
    /// - Parameter bytes: the map; where there is a NUL byte, one ends it, and behind it stands a URL to look up.
    static func check(_ bytes: [UInt8]) throws {
        let text = Array(bytes.prefix { $0 != 0 })
        let result = load(text)
        try require((result.map == nil) == result.hasErrors, "errors, and a map")
        let lines = text.count { $0 == 0x0a } + text.count { $0 == 0x0d } + 2
        for message in result.diagnostics { try check(message, lines: lines) }
        let again = load(text)
        try require(again.diagnostics == result.diagnostics, "other diagnostics the second time")
        guard let map = result.map, let same = again.map else { return }
        try require(map.ruleIDCount == same.ruleIDCount, "another number of rules the second time")
        var urls = [Array(bytes.dropFirst(text.count + 1))]
        for rule in map.rules.prefix(16) {
            try require(rule.location.line >= 1 && rule.location.line <= lines, "line \(rule.location.line)")
            try checkKey(rule)
            let key = Array(rule.key.utf8).filter { $0 != UInt8(ascii: "~") }
            urls.append(key.map { $0 == UInt8(ascii: "*") ? UInt8(ascii: "a") : $0 })
            urls.append(key + Array("x/../y%2e%2f..?z".utf8))
        }
        var scratch = LookupScratch()
        for url in urls {
            guard let uri = try? TargetURI(absolute: ByteBuffer(bytes: url)) else { continue }
            try checkLookup(map, uri, &scratch)
        }
        for message in map.checkFiles().diagnostics { try check(message, lines: lines) }
        _ = map.namedHosts()
    }

    /// What every file that a map includes has in it.
    private static let included = Array("substitutions: { \"http://included.test/\": i/ }".utf8)

    private static func load(_ text: [UInt8]) -> MapLoadResult {
        let files = MapFileSystem(
            read: { path, _ in .success(MapFileContents(bytes: path == "/m/map.yaml" ? text : included)) },
            kind: { _, path in path.last == 0x2f ? .folder : path.first == 0x61 ? .file : nil },
            absolutePath: { $0.utf8.first == 0x2f ? $0 : "/m/" + $0 }, identity: { $0 })
        let limits = YAMLLimits(inputBytes: 1 << 20, nestingDepth: 64, scalarBytes: 1 << 16, treeNodes: 10_000)
        return SubstitutionMap.load(
            files: ["map.yaml"], options: MapLoadOptions(limits: limits, maximumFiles: 10, fileSystem: files))
    }

    /// A message names a place that is there, and nothing in it drives a terminal.
    private static func check(_ message: MapDiagnostic, lines: Int) throws {
        let isVisible = message.rendering.unicodeScalars.allSatisfy { scalar in
            scalar == "\n" || scalar == "\t" || (scalar.value >= 0x20 && !(0x7f...0x9f ~= scalar.value))
        }
        try require(isVisible, "rendering \(Array(message.rendering.utf8))")
        guard let start = message.diagnostic.span?.start, message.diagnostic.file == "map.yaml" else { return }

        try require(1...lines ~= start.line && start.column >= 1, "place \(start.line):\(start.column)")
    }

    /// A key in normal form is a key, and its own normal form.
    private static func checkKey(_ rule: Rule) throws {
        let key = rule.key
        guard rule.kind == .exact || rule.kind == .folder else { return }
        guard !key.unicodeScalars.contains("*") || rule.kind == .exact else { return }
        let uri: TargetURI
        do throws(TargetError) {
            uri = try TargetURI(key)
        } catch {
            throw InvariantViolation("the key \(key): \(error)")
        }
        try require(uri.description == key, "the key \(key) becomes \(uri.description)")
    }

    /// A look-up and its explanation say the same, and no file outside of a root is named.
    private static func checkLookup(_ map: SubstitutionMap, _ uri: TargetURI, _ scratch: inout LookupScratch) throws {
        let fields = FieldSection()
        let method = RequestMethod(.get)
        let match = map.lookup(uri, method: method, fields: fields, scratch: &scratch)
        if let match {
            try require(match.id.index < map.ruleIDCount, "rule \(match.id)")
            try require(match.rest.upperBound <= uri.bytes.readableBytes, "rest \(match.rest)")
            try check(map.answer(match, uri: uri, scratch: scratch), uri)
        }
        let explained = map.explain(uri, method: method, fields: fields, scratch: &scratch)
        try require(explained.answer?.rule.id == match?.id, "explained otherwise: \(explained.lines)")
    }

    private static func check(_ answer: SourceAnswer, _ uri: TargetURI) throws {
        switch answer {
        case .file(_, let path):
            let segments = path.split(separator: 0x2f, omittingEmptySubsequences: false)
            let isSafe = !segments.contains { $0.isEmpty || $0.elementsEqual([0x2e, 0x2e]) || $0 == [0x2e] }
            try require(isSafe && !path.contains(0), "path \(path) for \(uri.description)")
        case .content(let content):
            let location = content.location ?? []
            try require(location.allSatisfy { $0 > 0x20 && $0 != 0x7f }, "Location \(location)")
        case .database(let call):
            let segments = call.path.split(separator: 0x2f, omittingEmptySubsequences: false)
            let isSafe = !segments.contains { $0.isEmpty || $0.elementsEqual([0x2e, 0x2e]) || $0 == [0x2e] }
            try require(isSafe && !call.path.contains(0), "database \(call.path) for \(uri.description)")
        case .template(let call):
            let segments = call.path.split(separator: 0x2f, omittingEmptySubsequences: false)
            let isSafe = call.text != nil || !segments.contains { $0.isEmpty || $0.elementsEqual([0x2e, 0x2e]) }
            try require(isSafe && !call.path.contains(0), "template \(call.path) for \(uri.description)")
        case .answers(let answers):
            for number in 0..<answers.count {
                let turns = answers.turns(of: number)
                try require(answers.number(of: turns.lowerBound) == number, "turn \(turns.lowerBound)")
                try require(answers.number(of: turns.upperBound - 1) == number, "turn \(turns.upperBound - 1)")
                try check(answers.answer(number), uri)
            }
            let last = answers.turn(after: answers.turnCount - 1)
            try require(0..<answers.turnCount ~= last, "turn \(last) of \(answers.turnCount)")
        case .origin, .refused: break
        }
    }
}
