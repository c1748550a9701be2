import CCompression

/// Zstandard (RFC 8878), with windows of up to 8 MiB, as the content coding has them (RFC 9659).
final class ZstandardDecoder: Decompressor {
    private let context: OpaquePointer

    /// - Throws: ``ArchiveProblem`` where there is no libzstd or no memory.
    init() throws(ArchiveProblem) {
        if let text = subproxy_zstd_problem() {
            throw ArchiveProblem(.error, "zstd can't be decoded: \(String(cString: text))")
        }
        guard let context = ZSTD_createDCtx() else {
            throw ArchiveProblem(.error, "there is no memory for decoding")
        }
        self.context = context
        _ = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 23)
    }

    deinit { _ = ZSTD_freeDCtx(context) }

    func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> DecodingStep {
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        let result = ZSTD_decompressStream(context, &target, &source)
        var step = DecodingStep(consumed: source.pos, produced: target.pos)
        if ZSTD_isError(result) != 0 {
            step.state = .failed("it is damaged, or its window is over 8 MiB")
        } else if result == 0 {
            step.state = .complete
        }
        return step
    }
}
