import Glibc
@_spi(CustomByteBufferAllocator) import NIOCore

/// Memory that stands in pages of its own, for buffers whose bytes are those of an open file. (mmap(2))
///
/// A buffer frees its memory by the address alone, so the length stands in a page in front of it.
enum MappedMemory {
    private static let page = max(4096, sysconf(CInt(_SC_PAGESIZE)))

    /// Gives the first `count` bytes of a file that can't change as a buffer; nil where there is no memory for it.
    ///
    /// A private mapping: somebody who writes to the buffer gets copies of the pages, and the file stays as it is.
    static func buffer(of descriptor: CInt, count: Int) -> ByteBuffer? {
        guard let address = allocate(count) else { return nil }
        let mapped = mmap(address, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, descriptor, 0)
        guard mapped == address else {
            deallocate(address)
            return nil
        }
        return ByteBuffer(
            takingOwnershipOf: UnsafeMutableRawBufferPointer(start: address, count: count), allocator: allocator)
    }

    private static let allocator = ByteBufferAllocator(
        allocate: { MappedMemory.allocate($0) },
        reallocate: { address, old, new in
            guard let larger = MappedMemory.allocate(new) else { return nil }
            guard let address else { return larger }
            larger.copyMemory(from: address, byteCount: min(old, new))
            MappedMemory.deallocate(address)
            return larger
        },
        deallocate: { MappedMemory.deallocate($0) },
        copy: { $0.copyMemory(from: $1, byteCount: $2) })

    private static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
        let (length, overflow) = count.addingReportingOverflow(page)
        guard !overflow else { return nil }
        let start = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start, start != MAP_FAILED else { return nil }
        start.storeBytes(of: length, as: Int.self)
        return start + page
    }

    private static func deallocate(_ address: UnsafeMutableRawPointer) {
        let start = address - page
        munmap(start, start.load(as: Int.self))
    }
}
