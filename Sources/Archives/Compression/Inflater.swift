import CCompression

/// zlib's inflate (RFC 1950, 1951, 1952).
final class Inflater: Decompressor {
    /// What is around the deflated data; zlib's `windowBits`.
    enum Form: Int32 {
        case raw = -15
        case zlib = 15
        case gzip = 31
    }

    // zlib keeps the address.
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Throws: ``ArchiveProblem`` where there is no zlib or no memory.
    init(_ form: Form) throws(ArchiveProblem) {
        if let text = subproxy_zlib_problem() {
            throw ArchiveProblem(.error, "gzip and deflate can't be decoded: \(String(cString: text))")
        }
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard subproxy_inflate_begin(stream, form.rawValue) == Z_OK else {
            stream.deallocate()
            throw ArchiveProblem(.error, "there is no memory for decoding")
        }
        self.stream = stream
    }

    /// A copy, which goes on from where the other stands, and leaves it as it is.
    ///
    /// - Throws: ``ArchiveProblem`` where there is no memory.
    init(copying other: Inflater) throws(ArchiveProblem) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard inflateCopy(stream, other.stream) == Z_OK else {
            stream.deallocate()
            throw ArchiveProblem(.error, "there is no memory for decoding")
        }
        self.stream = stream
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Begins another stream.
    func reset(_ form: Form) { inflateReset2(stream, form.rawValue) }

    func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> DecodingStep {
        let available = UInt32(clamping: input.count)
        let room = UInt32(clamping: output.count)
        // zlib declares its input as mutable, and leaves it as it is. An empty one may not be NULL.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = available
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = room
        var step = DecodingStep()
        switch inflate(stream, Z_NO_FLUSH) {
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END: step.state = .complete
        case Z_MEM_ERROR: step.state = .failed("there is no memory for decoding")
        case Z_NEED_DICT: step.state = .failed("it needs a dictionary that nobody has")
        default: step.state = .failed(stream.pointee.msg.map { String(cString: $0) } ?? "it is damaged")
        }
        step.consumed = Int(available &- stream.pointee.avail_in)
        step.produced = Int(room &- stream.pointee.avail_out)
        return step
    }
}

/// The checksum of zip and gzip.
struct CRC32 {
    private(set) var value: UInt32 = 0

    /// Takes bytes along, which follow those before.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        value = UInt32(truncatingIfNeeded: crc32_z(UInt(value), start, bytes.count))
    }
}
