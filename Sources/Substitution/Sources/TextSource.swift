import YAML

/// `text`: a text that stands in the map.
struct TextSource: SourceKind {
    let option = "text"

    func read(_ value: YAMLNode, _ reader: SourceReader) -> RuleBody.Text? {
        reader.text(value).map { scalar in scalar.withBytes { reader.builder.append($0) } }
    }

    func answer(_ request: SourceRequest) -> SourceAnswer {
        .content(SourceContent(bytes: request.written, type: "text/plain; charset=utf-8"))
    }
}
