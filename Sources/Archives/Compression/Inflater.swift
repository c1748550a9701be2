import CCompression
import HTTPSemantics

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
    /// Whether what comes next begins a stream of gzip.
    private var isBeginning: Bool
    /// Of a stream of gzip; nil where zlib compares its checksum.
    private var check: GzipCheck?

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
        isBeginning = form == .gzip
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
        isBeginning = other.isBeginning
        check = other.check
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Begins another stream.
    func reset(_ form: Form) {
        inflateReset2(stream, form.rawValue)
        isBeginning = form == .gzip
        check = nil
    }

    /// Has zlib not compute the checksum, which takes it more time than it has to take. The one of the header, which
    /// hardly any has (the flag FHCRC), only zlib compares, together with the other.
    private func takeCheck(of input: UnsafeRawBufferPointer) {
        guard isBeginning, !input.isEmpty else { return }
        isBeginning = false
        if input.count > 3, input[3] & 2 == 0, inflateValidate(stream, 0) == Z_OK { check = GzipCheck() }
    }

    func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> DecodingStep {
        takeCheck(of: input)
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
        check?.take(input.rebased(0..<step.consumed), UnsafeRawBufferPointer(output).rebased(0..<step.produced))
        if step.state == .complete, let problem = check?.problem { step.state = .failed(problem) }
        return step
    }

    /// Of gzip: some writers leave the checksum and the length at the end out, or cut them. What there is of them has
    /// to be right.
    var isWhole: Bool { missingEnd != nil }

    /// What is missing of the checksum and the length, where nothing else is.
    var missingEnd: [UInt8]? {
        guard let check else { return nil }
        // Behind the last block zlib takes what is missing, and gives no byte. Before 1.2.12 it compares the length.
        let missing = (1...8).first { missing in
            guard check.agrees(missing: missing), let copy = try? Inflater(copying: self) else { return false }
            copy.check = nil
            var room: UInt8 = 0
            let step = withUnsafeBytes(of: check.expected.littleEndian) { end in
                withUnsafeMutableBytes(of: &room) { room in
                    copy.decode(UnsafeRawBufferPointer(rebasing: end[(8 - missing)...]), into: room)
                }
            }
            return step.state == .complete && step.produced == 0 && step.consumed == missing
        }
        return missing.map { count in withUnsafeBytes(of: check.expected.littleEndian) { Array($0[(8 - count)...]) } }
    }
}

/// Compares what a stream of gzip ends with: the CRC-32 of what was decoded, and its length (RFC 1952 §2.3.1).
private struct GzipCheck {
    private var crc = CRC32()
    private var length: UInt32 = 0
    /// The last eight bytes of the stream so far.
    private var end: UInt64 = 0

    mutating func take(_ input: UnsafeRawBufferPointer, _ output: UnsafeRawBufferPointer) {
        crc.update(output)
        length &+= UInt32(truncatingIfNeeded: output.count)
        guard input.count < 8 else {
            end = UInt64(littleEndian: input.loadUnaligned(fromByteOffset: input.count - 8, as: UInt64.self))
            return
        }
        for byte in input { end = end &>> 8 | UInt64(byte) &<< 56 }
    }

    /// What the end is if it is right, as a little-endian number.
    var expected: UInt64 { UInt64(crc.value) | UInt64(length) &<< 32 }

    /// Whether the end is right as far as it is there.
    ///
    /// - Parameter count: how many of its eight bytes are missing.
    func agrees(missing count: Int) -> Bool {
        // A shift by 64 gives 0.
        return end >> UInt64(8 * count) == (expected << UInt64(8 * count)) >> UInt64(8 * count)
    }

    /// What is wrong at the end of the stream, in zlib's words; nil for nothing.
    var problem: String? {
        guard crc.value == UInt32(truncatingIfNeeded: end) else { return "incorrect data check" }
        return length == UInt32(truncatingIfNeeded: end &>> 32) ? nil : "incorrect length check"
    }
}

/// The checksum of zip and gzip.
struct CRC32 {
    private(set) var value: UInt32 = 0

    /// Takes bytes along, which follow those before.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        value = subproxy_crc32(value, start, bytes.count)
    }
}
