import CCompression

/// Brotli (RFC 7932), without large windows: at most 16 MiB are kept.
final class BrotliDecoder: Decompressor {
    private let state: OpaquePointer

    /// - Throws: ``ArchiveProblem`` where there is no libbrotlidec or no memory.
    init() throws(ArchiveProblem) {
        if let text = subproxy_brotli_problem() {
            throw ArchiveProblem(.error, "br can't be decoded: \(String(cString: text))")
        }
        guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else {
            throw ArchiveProblem(.error, "there is no memory for decoding")
        }
        self.state = state
    }

    deinit { BrotliDecoderDestroyInstance(state) }

    func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> DecodingStep {
        var available = input.count
        var next = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var room = output.count
        var target = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let result = BrotliDecoderDecompressStream(state, &available, &next, &room, &target, nil)
        var step = DecodingStep(consumed: input.count &- available, produced: output.count &- room)
        if result == BROTLI_DECODER_RESULT_SUCCESS { step.state = .complete }
        if result == BROTLI_DECODER_RESULT_ERROR { step.state = .failed("it is damaged") }
        return step
    }
}
