/// How far a step of decoding came.
struct DecodingStep {
    enum State: Equatable {
        /// It goes on with more input, or with more room.
        case open
        /// All that belongs together is decoded; more input is another stream, or none.
        case complete
        /// The input is damaged, or something is short.
        case failed(String)
    }

    var consumed = 0
    var produced = 0
    var state = State.open
}

/// A stream of a content coding while it is decoded.
protocol Decompressor: AnyObject {
    /// Decodes as much of `input` as there is room for in `output`.
    func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> DecodingStep

    /// Whether, with no more input, all has been decoded, and only of what stands behind it something is missing.
    var isWhole: Bool { get }
}

extension Decompressor {
    var isWhole: Bool { false }
}
