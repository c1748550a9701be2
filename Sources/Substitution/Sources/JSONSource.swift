import Diagnostics
import YAML

/// `json`: a value that stands in the map, as YAML, and is answered as JSON.
struct JSONSource: SourceKind {
    let option = "json"

    func read(_ value: YAMLNode, _ reader: SourceReader) -> RuleBody.Text? {
        do throws(YAMLError) {
            return reader.builder.append(try value.jsonBytes())
        } catch {
            reader.diagnostics.error(error)
            return nil
        }
    }

    func answer(_ request: SourceRequest) -> SourceAnswer {
        .content(SourceContent(bytes: request.written, type: "application/json"))
    }
}
