public import HTTPSemantics
import NIOCore
import Patterns

/// A request as the source of the rule that matches sees it, with what the rule's text says.
struct SourceRequest {
    private let map: SubstitutionMap
    private let record: RuleRecord
    private let match: RuleMatch
    /// What the key has captured.
    private let groups: CaptureList
    let uri: TargetURI

    init(_ map: SubstitutionMap, _ match: RuleMatch, _ uri: TargetURI, _ groups: CaptureList) {
        self.map = map
        self.match = match
        self.uri = uri
        self.groups = groups
        record = map.storage.records[match.id.index]
    }

    /// What the rule's key is.
    var kind: RuleKind { record.kind }

    /// The rule's place, as `substitutions.yaml:12`.
    var position: String { map.storage.position(record) }

    /// The folder that the rule's files are below, absolute.
    var root: String { map.storage.files[Int(record.file)].root }

    /// The text with captures, where it has some.
    var template: CaptureTemplate? { record.isTemplate ? stored.template : nil }

    /// The text as the map has it.
    var written: [UInt8] { record.isTemplate ? Array(stored.text.utf8) : Array(map.storage.arena[record.sourceRange]) }

    /// The text with its captures filled in, as they stand in the URL.
    func expanded() -> [UInt8] {
        guard record.isTemplate else { return written }
        var output: [UInt8] = []
        uri.withBytes { url in stored.template.expand(into: &output, captures: groups, of: url) }
        return output
    }

    /// A text of the rule's with its captures filled in, as they stand in the URL.
    func expanded(_ template: CaptureTemplate) -> [UInt8] {
        var output: [UInt8] = []
        uri.withBytes { url in template.expand(into: &output, captures: groups, of: url) }
        return output
    }

    /// The captures of the key, decoded: by number from 1 on, then by name.
    var captures: [(name: String, value: [UInt8])] {
        writtenCaptures.map { capture in
            var value: [UInt8] = []
            PercentDecoding.append(capture.value, to: &value)
            return (capture.name, value)
        }
    }

    /// The same as they stand in the URL.
    var writtenCaptures: [(name: String, value: [UInt8])] {
        var values: [(name: String, value: [UInt8])] = []
        // For other keys the groups are still those of an earlier look-up.
        guard record.kind == .pattern || record.kind == .expression else { return [] }
        uri.withBytes { url in
            guard groups.count > 1 else { return }
            for group in 1..<groups.count {
                guard let range = groups[group] else { continue }
                values.append((String(group), Array(url[range.clamped(to: 0..<url.count)])))
            }
        }
        guard record.kind == .expression else { return values }
        // Of the rules that one key has, the first one stands for the key.
        let key = map.storage.expressions.first { entry in
            map.storage.records[Int(entry.record)].keyRange == record.keyRange
        }
        let names = key?.expression.groupNames ?? [:]
        for (name, group) in names {
            if let value = values.first(where: { $0.name == String(group) }) { values.append((name, value.value)) }
        }
        return values
    }

    /// The URL's host and path, as in `products/42` of `sqlite://products/42`.
    var hostAndPath: [UInt8] {
        uri.withBytes { url in
            Array(url[uri.hostRange.clamped(to: 0..<url.count)])
                + Array(url[min(uri.pathStart, url.count)..<min(uri.pathEnd, url.count)])
        }
    }

    /// How the rule is answered.
    var options: RuleOptions { map.storage.options[Int(record.options)] }

    /// Of a folder, what follows its key in the URL's path, as it stands there; else empty.
    var rest: [UInt8] {
        guard kind == .folder else { return [] }
        return uri.withBytes { Array($0[match.rest.clamped(to: 0..<$0.count)]) }
    }

    /// Whether the captures leave scheme and authority of a URL what the map makes of them.
    var keepsAuthority: Bool {
        guard let template else { return true }
        return uri.withBytes { CapturedAuthority.isKept(by: template, captures: groups, of: $0) }
    }

    /// The answers of a rule that has several.
    var answers: AnswersInTurn {
        AnswersInTurn(map, match, uri, groups, map.storage.answerLists[Int(record.sourceOffset)])
    }

    private var stored: MapStorage.Template { map.storage.templates[Int(record.sourceOffset)] }
}

extension SubstitutionMap {
    /// Finds out what a match answers with.
    ///
    /// - Parameter scratch: The one that the look-up was given, unused since.
    public func answer(_ match: RuleMatch, uri: TargetURI, scratch: LookupScratch) -> SourceAnswer {
        storage.records[match.id.index].source.kind.answer(SourceRequest(self, match, uri, scratch.captures))
    }
}
