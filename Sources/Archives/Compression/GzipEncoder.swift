import CCompression

/// Writes gzip (RFC 1952): equal bytes become equal bytes, without name and time.
public final class GzipEncoder {
    // zlib keeps the address.
    private let stream: UnsafeMutablePointer<z_stream>
    private var output = [UInt8](repeating: 0, count: 32_768)

    /// - Parameter level: 1, the quickest, to 9; 6 is zlib's own default.
    /// - Throws: ``ArchiveProblem`` where there is no zlib or no memory.
    public init(level: Int = 6) throws(ArchiveProblem) {
        if let text = subproxy_zlib_problem() {
            throw ArchiveProblem(.error, "gzip can't be written: \(String(cString: text))")
        }
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard subproxy_deflate_begin(stream, Int32(clamping: level), 31) == Z_OK else {
            stream.deallocate()
            throw ArchiveProblem(.error, "there is no memory for gzip")
        }
        self.stream = stream
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Encodes some bytes; appends what is ready.
    public func encode(_ bytes: some Collection<UInt8>, into target: inout [UInt8]) {
        let isContiguous: Void? = bytes.withContiguousStorageIfAvailable {
            deflateAll(UnsafeRawBufferPointer($0), Z_NO_FLUSH, into: &target)
        }
        if isContiguous == nil {
            Array(bytes).withUnsafeBytes { deflateAll($0, Z_NO_FLUSH, into: &target) }
        }
    }

    /// Ends the member; what is encoded next begins another.
    public func finish(into target: inout [UInt8]) {
        deflateAll(UnsafeRawBufferPointer(start: nil, count: 0), Z_FINISH, into: &target)
        deflateReset(stream)
    }

    private func deflateAll(_ bytes: UnsafeRawBufferPointer, _ flush: Int32, into target: inout [UInt8]) {
        var rest = bytes
        repeat {
            let part = UInt32(clamping: rest.count)
            stream.pointee.next_in = UnsafeMutablePointer(
                mutating: rest.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = part
            let produced = output.withUnsafeMutableBytes { output in
                stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(clamping: output.count)
                deflate(stream, flush)
                return output.count &- Int(stream.pointee.avail_out)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[Int(part &- stream.pointee.avail_in)...])
            target += output[..<produced]
        } while !rest.isEmpty || stream.pointee.avail_out == 0
    }
}
