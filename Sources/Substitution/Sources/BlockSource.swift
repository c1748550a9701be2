import Diagnostics
import YAML

/// `block`: a refusal.
struct BlockSource: SourceKind {
    let option = "block"
    let status = 403

    func read(_ value: YAMLNode, _ reader: SourceReader) -> RuleBody.Text? {
        guard let boolean = value.scalar?.boolValue else {
            let isWord = value.scalar?.isYAML11Boolean ?? false
            reader.diagnostics.error(
                isWord ? "'block' is true; for \(value.scalar?.description ?? "") write true" : "'block' is true",
                at: reader.span(value))
            return nil
        }
        guard boolean else { return reader.refuseFalse(value) }
        return reader.builder.append([UInt8]())
    }

    func effect(of option: OptionName, in given: GivenOptions) -> OptionEffect {
        switch option {
        case .bypass:
            guard let bypass = given.bypass, bypass != .never else { return .some }
            return .contradiction(
                "a blocked URL never goes to its origin; 'bypass' is never, and may be left out")
        case .when:
            guard given.when == .originFails else { return .some }
            return .idle("'when' has no effect with 'block': a blocked URL never goes to its origin")
        case .type: return .none("")
        default: return usualEffect(of: option)
        }
    }

    /// A block that some requests pass by would be none.
    func settle(_ options: inout GivenOptions) {
        options.bypass = .never
        options.isBypassOwn = true
        options.when = .always
    }

    func answer(_ request: SourceRequest) -> SourceAnswer {
        let text = "subproxy: blocked by the map, \(request.position)\n"
        return .content(
            SourceContent(
                bytes: Array(text.utf8), type: "text/plain; charset=utf-8", status: status, isOwnWording: true))
    }

    func words(for answer: SourceAnswer, by options: RuleOptions) -> String { "a refusal (block)" }
}
