import ProxyTestKit
import Testing

@testable import Archives

@Suite("A window on a file")
struct ByteWindowTests {
    private let file = (0..<1000).map { UInt8($0 % 251) }

    @Test("has what was asked for, wherever it is moved to")
    func moved() throws {
        var window = ByteWindow(ArchiveBytes(file), size: 64)
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2000 {
            let offset = Int.random(in: 0..<1010, using: &random)
            let length = Int.random(in: 0..<200, using: &random)
            try window.require(length, at: offset)
            #expect(window.start <= offset && window.end >= min(1000, offset + length))
            #expect(window.buffer.elementsEqual(file.dropFirst(window.start).prefix(window.buffer.count)))
        }
    }

    @Test("stays in the memory that it has, as long as that is enough")
    func memory() throws {
        var window = ByteWindow(ArchiveBytes(file), size: 64)
        try window.require(64, at: 0)
        let first = window.buffer.withUnsafeBytes { $0.baseAddress }
        for offset in stride(from: 70, to: 1000, by: 64) {
            try window.require(62, at: offset)
            #expect(window.buffer.withUnsafeBytes { $0.baseAddress } == first)
        }
        #expect(window.isLast)
    }

    @Test("is empty where reading failed")
    func unreadable() throws {
        let file = file
        let bytes = ArchiveBytes(count: 1000) { buffer, offset in
            guard offset < 500 else { return -1 }
            for index in buffer.indices { buffer[index] = file[offset + index] }
            return buffer.count
        }
        var window = ByteWindow(bytes, size: 64)
        try window.require(10, at: 100)
        #expect(throws: ArchiveProblem.self) { try window.require(10, at: 600) }
        #expect(window.buffer.isEmpty)
        try window.require(10, at: 102)
        #expect(window.buffer.prefix(10).elementsEqual(file[100..<110]))
    }
}
