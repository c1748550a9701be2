import NIOCore

/// The content of a stored response as the store keeps it.
public enum StoredContent {
    /// Contents of up to so many bytes are kept as one segment: 16 KiB. What a copy of that takes is less than what the
    /// segments' own administration takes, and it is sent with one write.
    public static var joinLimit: Int { 16_384 }

    /// The content without empty segments and, where it is small, as one segment that shares its storage with nobody:
    /// a slice of a read buffer would keep all of that buffer.
    static func joined(_ segments: [ByteBuffer]) -> [ByteBuffer] {
        let segments = segments.filter { $0.readableBytes > 0 }
        let size = segments.reduce(0) { $0 + $1.readableBytes }
        guard size > 0, size <= joinLimit else { return segments }
        var whole = ByteBufferAllocator().buffer(capacity: size)
        if segments.count == 1, segments[0].storageCapacity <= whole.capacity { return segments }
        for segment in segments { whole.writeImmutableBuffer(segment) }
        return [whole]
    }
}
