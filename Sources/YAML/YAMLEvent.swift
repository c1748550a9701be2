public import Diagnostics

/// What a YAML source consists of, in the order of the source.
public enum YAMLEvent: Sendable {
    case documentStart(TextSpan)
    /// The span of a flow mapping's start is its bracket; of a block mapping's start, the empty span at its first key.
    case mappingStart(TextSpan)
    case mappingEnd(TextSpan)
    case sequenceStart(TextSpan)
    case sequenceEnd(TextSpan)
    case scalar(YAMLScalar)
    case documentEnd(TextSpan)
    /// Comes once more at each further call.
    case streamEnd(TextSpan)

    public var span: TextSpan {
        switch self {
        case .documentStart(let span), .documentEnd(let span), .streamEnd(let span), .mappingStart(let span),
            .mappingEnd(let span), .sequenceStart(let span), .sequenceEnd(let span):
            return span
        case .scalar(let scalar): return scalar.span
        }
    }
}
