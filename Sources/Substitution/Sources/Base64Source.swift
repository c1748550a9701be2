import Basics
import Diagnostics
import YAML

/// `base64`: bytes that stand in the map in Base64 (RFC 4648 §4).
struct Base64Source: SourceKind {
    let option = "base64"

    func read(_ value: YAMLNode, _ reader: SourceReader) -> RuleBody.Text? {
        guard let scalar = reader.text(value) else { return nil }
        guard let bytes = Base64.decoded(scalar.bytes) else {
            reader.diagnostics.error("this is no Base64 (RFC 4648)", at: scalar.span)
            return nil
        }
        return reader.builder.append(bytes)
    }

    func answer(_ request: SourceRequest) -> SourceAnswer {
        .content(SourceContent(bytes: request.written, type: "application/octet-stream"))
    }
}
