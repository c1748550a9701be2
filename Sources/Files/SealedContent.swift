import CLinux
import Glibc
import NIOCore
import Synchronization

/// The content of a file in memory that the kernel sends by itself, without a copy: a copy of its own that nobody can
/// change any more, whatever becomes of the file. (memfd_create(2), sendfile(2))
public final class SealedContent: Sendable {
    /// Borrowed, for sendfile(2): valid as long as this object is.
    public let descriptor: CInt
    public let count: Int

    private let places: DescriptorPlaces

    /// The smallest content that is kept so, in bytes. Below it the system call that sends it beside the head costs
    /// what the copy does.
    public static let smallest = 64 << 10
    /// What one costs in memory beside its bytes: the rest of its last page, and the page of ``MappedMemory``.
    static let overhead = 8 << 10

    /// Takes the descriptor and the place over.
    private init(_ descriptor: CInt, count: Int, _ places: DescriptorPlaces) {
        self.descriptor = descriptor
        self.count = count
        self.places = places
    }

    deinit {
        close(descriptor)
        places.giveBack()
    }

    /// Copies bytes, and maps the copy in their place, so that they are in memory once.
    ///
    /// - Returns: nil where there is no place, or the system has no descriptor or memory for it: the bytes are kept as
    ///   they are then.
    static func make(_ bytes: ByteBuffer, _ places: DescriptorPlaces) -> (sealed: SealedContent, bytes: ByteBuffer)? {
        guard bytes.readableBytes >= smallest, places.take() else { return nil }
        let descriptor = linux_memfd()
        guard descriptor >= 0 else {
            places.giveBack()
            return nil
        }
        // From here on it closes the descriptor and gives the place back.
        let sealed = SealedContent(descriptor, count: bytes.readableBytes, places)
        guard write(bytes, to: descriptor) else { return nil }
        LargePages.gather(descriptor, count: bytes.readableBytes)
        // It may be longer where it could not be cut off again, which nobody would seal.
        guard lseek(descriptor, 0, SEEK_END) == bytes.readableBytes, linux_seal(descriptor) == 0,
            let mapped = MappedMemory.buffer(of: descriptor, count: bytes.readableBytes)
        else { return nil }
        return (sealed, mapped)
    }

    private static func write(_ bytes: ByteBuffer, to descriptor: CInt) -> Bool {
        bytes.withUnsafeReadableBytes { bytes in
            var done = 0
            while done < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count &- done)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                done &+= count
            }
            return true
        }
    }
}
