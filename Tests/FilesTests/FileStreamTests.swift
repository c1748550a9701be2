import Glibc
import NIOCore
import Testing

@testable import Files

struct FileStreamTests {
    private let sandbox = FileSandbox()

    private func stream(range: Range<Int>? = nil) throws -> FileStream {
        FileStream(try sandbox.root.open("f".bytes), range: range)
    }

    private func pieces(_ stream: FileStream, maxBytes: Int) throws -> [String] {
        var pieces: [String] = []
        while let piece = try stream.next(maxBytes: maxBytes) { pieces.append(String(buffer: piece)) }
        return pieces
    }

    @Test("Content comes in pieces up to the end of the range")
    func reading() throws {
        sandbox.write("0123456789", to: "f")
        #expect(try pieces(stream(), maxBytes: 4) == ["0123", "4567", "89"])
        #expect(try pieces(stream(range: 3..<8), maxBytes: 4) == ["3456", "7"])
        #expect(try pieces(stream(range: 4..<4), maxBytes: 4) == [])
        let stream = try stream()
        #expect(try pieces(stream, maxBytes: 100).count == 1)
        #expect(try stream.next() == nil)
    }

    @Test("An empty file has no pieces")
    func empty() throws {
        sandbox.write("", to: "f")
        #expect(try stream().next() == nil)
    }

    @Test("A file that grows gives the bytes that were announced")
    func growth() throws {
        sandbox.write("0123456789", to: "f")
        let stream = try stream()
        _ = try stream.next(maxBytes: 4)
        sandbox.append("more", to: "f")
        #expect(try pieces(stream, maxBytes: 100) == ["456789"])
    }

    @Test("A file that is cut short ends in an error")
    func truncation() throws {
        sandbox.write([UInt8](repeating: 1, count: 300_000), to: "f")
        let stream = try stream()
        try stream.prefetch(offset: 0, length: 300_000)
        #expect(try stream.next(maxBytes: 100_000)?.readableBytes == 100_000)
        sandbox.truncate("f", to: 1000)
        #expect(throws: FileStreamError.truncated(expected: 200_000, found: 1000)) {
            try stream.next(maxBytes: 100_000)
        }
        #expect(throws: FileStreamError.truncated(expected: 300_000, found: 1000)) {
            try stream.prefetch(offset: 200_000, length: 100_000)
        }
        #expect(throws: FileStreamError.truncated(expected: 1001, found: 1000)) {
            try stream.prefetch(offset: 0, length: 1001)
        }
        #expect(throws: FileStreamError.changed) { try stream.prefetch(offset: 0, length: 1000) }
    }

    @Test("A file that is written to in its place ends in an error, whatever is left of it")
    func overwriting() throws {
        sandbox.write("0123456789", to: "f")
        sandbox.setModified("f", seconds: 1_000_000_000)
        let stream = try stream()
        #expect(try stream.next(maxBytes: 4) == ByteBuffer(string: "0123"))
        sandbox.write("abcdefghij", to: "f")
        #expect(throws: FileStreamError.changed) { try stream.next(maxBytes: 100) }
        #expect(throws: FileStreamError.changed) { try stream.prefetch(offset: 4, length: 6) }
    }

    @Test(
        "A file whose time says that it was written to, and whose size follows, was appended to",
        arguments: [true, false])
    func appending(isAppended: Bool) throws {
        sandbox.write("0123456789", to: "f")
        let stream = FileStream(
            try sandbox.root.open("f".bytes), range: nil, read: systemRead,
            pause: { [sandbox] in if isAppended { sandbox.append("more", to: "f") } })
        sandbox.setModified("f", seconds: 1_000_000_000)
        if isAppended {
            #expect(try pieces(stream, maxBytes: 4) == ["0123", "4567", "89"])
        } else {
            #expect(throws: FileStreamError.changed) { try stream.next(maxBytes: 4) }
        }
    }

    @Test("A file that is deleted or renamed over goes on as it was")
    func unlinked() throws {
        sandbox.write("old content", to: "f")
        let stream = try stream()
        _ = try stream.next(maxBytes: 4)
        sandbox.write("new", to: "g")
        sandbox.rename("g", to: "f")
        sandbox.remove("f")
        try stream.prefetch(offset: 4, length: 7)
        #expect(try pieces(stream, maxBytes: 100) == ["content"])
    }

    @Test("The last byte of a huge file is read without the others")
    func sparse() throws {
        sandbox.truncate("f", to: 5 << 30)
        let stream = try stream(range: 5_368_709_119..<5_368_709_120)
        try stream.prefetch(offset: 5_368_709_119, length: 1)
        #expect(try stream.next() == ByteBuffer(bytes: [0]))
        #expect(try stream.next() == nil)
    }

    @Test("Ranges beyond all measure are errors, not traps")
    func extremes() throws {
        sandbox.write("0123", to: "f")
        #expect(throws: FileStreamError.truncated(expected: .max, found: 4)) {
            try stream().prefetch(offset: .max, length: .max)
        }
        #expect(throws: FileStreamError.truncated(expected: 1, found: 4)) {
            try stream().prefetch(offset: -1, length: 2)
        }
        try stream().prefetch(offset: 0, length: 0)
        #expect(throws: FileStreamError.truncated(expected: 110, found: 4)) { try stream(range: 100..<110).next() }
        #expect(try stream(range: -5..<2).next() == ByteBuffer(string: "01"))
        #expect(try stream(range: 0..<4).next(maxBytes: -1) == nil)
    }

    @Test("An error of the disk is thrown, an interruption is not", arguments: [EIO, EINTR])
    func errors(code: CInt) throws {
        sandbox.write("0123", to: "f")
        let calls = Collected<Int>()
        let stream = FileStream(try sandbox.root.open("f".bytes), range: nil) { descriptor, space, offset in
            calls.add(offset)
            return calls.all.count == 1 ? -Int(code) : systemRead(descriptor, space, offset)
        }
        if code == EINTR {
            #expect(try stream.next() == ByteBuffer(string: "0123"))
        } else {
            #expect(throws: FileStreamError.io(errno: code)) { try stream.next() }
            #expect(throws: FileStreamError.io(errno: EIO)) {
                try FileStream(try sandbox.root.open("f".bytes), range: nil) { _, _, _ in -Int(EIO) }
                    .prefetch(offset: 0, length: 4)
            }
        }
    }

    @Test("The descriptor is closed with the stream")
    func ownership() throws {
        sandbox.write("0123", to: "f")
        do {
            let stream = try stream()
            #expect(fcntl(stream.descriptor, F_GETFD) >= 0)
            #expect(sandbox.openDescriptors == 1)
            _ = stream
        }
        #expect(sandbox.openDescriptors == 0)
    }

    @Test("Prefetched content is there whatever its size")
    func prefetch() throws {
        sandbox.write([UInt8](repeating: 7, count: 1 << 20), to: "f")
        let stream = try stream()
        for (offset, length) in [(0, 1 << 20), (1, 1), (131_071, 2), (65_536, 65_536), ((1 << 20) - 1, 1)] {
            try stream.prefetch(offset: offset, length: length)
        }
    }
}
