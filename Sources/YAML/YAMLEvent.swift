/// What a YAML source consists of, in the order of the source.
public enum YAMLEvent: Sendable {
    case documentStart(YAMLSpan)
    /// The span of a flow mapping's start is its bracket; of a block mapping's start, the empty span at its first key.
    case mappingStart(YAMLSpan)
    case mappingEnd(YAMLSpan)
    case sequenceStart(YAMLSpan)
    case sequenceEnd(YAMLSpan)
    case scalar(YAMLScalar)
    case documentEnd(YAMLSpan)
    /// Comes once more at each further call.
    case streamEnd(YAMLSpan)

    public var span: YAMLSpan {
        switch self {
        case .documentStart(let span), .documentEnd(let span), .streamEnd(let span), .mappingStart(let span),
            .mappingEnd(let span), .sequenceStart(let span), .sequenceEnd(let span):
            return span
        case .scalar(let scalar): return scalar.span
        }
    }
}
