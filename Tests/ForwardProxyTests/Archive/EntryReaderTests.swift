import Glibc
import ProxyTestKit
import Substitution
import Testing

@testable import Archives
@testable import ForwardProxy

@Suite("A recorded body that is read in parts")
struct EntryReaderTests {
    private static let size = 5 << 20

    /// Reads a part; how often that took reading, and the bytes.
    private func part(_ range: Range<Int>, _ reader: EntryReader) throws -> (steps: Int, bytes: [UInt8]) {
        var (steps, bytes) = (0, [UInt8]())
        while true {
            let piece = try reader.read(range.lowerBound + bytes.count..<range.upperBound, upTo: 100)
            steps += 1
            bytes += piece.bytes
            guard piece.isMore else { return (steps, bytes) }
        }
    }

    @Test("is passed over a MiB at a time, and anew only for a part before what was read")
    func steps() throws {
        let folder = TemporaryFolder()
        let chunk = String(repeating: "0123456789abcdef", count: 4096)
        let chunks = String(repeating: "10000\r\n\(chunk)\r\n", count: Self.size / 65_536)
        let message = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n"
        let head = [
            "WARC/1.1", "WARC-Type: response", "WARC-Target-URI: http://a.test/", "Content-Type: application/http",
            "Content-Length: \(message.utf8.count)", "", "",
        ]
        try folder.write("a.warc", head.joined(separator: "\r\n") + message + "\r\n\r\n")
        let map = try #require(
            SubstitutionMap.load(files: [try folder.write("m.yaml", "archives: [a.warc]\n")]).map)
        let archive = try #require(map.archives.first)
        let body = try archive.archive.exchange(0).body
        #expect(body.size == nil)
        let reader = EntryReader(archive, 0, body)
        // Four times a MiB is passed over, and then read.
        let place = 4 << 20
        let first = try part(place + 3..<place + 6, reader)
        #expect((4...6).contains(first.steps) && first.bytes == Array("345".utf8), "\(first)")
        let second = try part(place + 22..<place + 24, reader)
        #expect(second.steps == 1 && second.bytes == Array("67".utf8))
        #expect(try part(place + 24..<place + 25, reader).bytes == Array("8".utf8))
        let before = try part(place + 8..<place + 9, reader)
        #expect((4...6).contains(before.steps) && before.bytes == Array("8".utf8))
        #expect(try part(Self.size - 2..<Self.size + 2, reader).bytes == Array("ef".utf8))
        #expect(try part(Self.size + 5..<Self.size + 9, reader).bytes == [])
        let counter = EntryReader(archive, 0, body)
        var counts: [CountedBodies.Count?] = []
        while counts.last != .some(.some(CountedBodies.Count(size: Self.size, isRewritten: false))), counts.count < 9 {
            counts.append(try counter.count())
        }
        #expect((5...6).contains(counts.count) && counts.dropLast().allSatisfy { $0 == nil }, "\(counts)")
    }

    @Test("in a file of its own is given to its end when that is replaced, and no further once it is edited")
    func edited() throws {
        let folder = TemporaryFolder()
        let har = """
            {"log":{"entries":[{"request":{"method":"GET","url":"http://h.test/","headers":[]},"response":\
            {"status":200,"headers":[],"content":{"mimeType":"text/plain","_file":"b"}}}]}}
            """
        try folder.write("a.har", har)
        try folder.write("recording.yaml", "- url: http://r.test/\n  file: b\n")
        let (old, new) = (String(repeating: "A", count: 40), String(repeating: "B", count: 40))
        try folder.write("b", old)
        let map = try #require(
            SubstitutionMap.load(files: [try folder.write("m.yaml", "archives: [a.har, recording.yaml]\n")]).map)
        #expect(map.archives.count == 2)
        for isReplaced in [true, false] {
            try folder.write("b", old)
            folder.age()
            let readers = try map.archives.map { EntryReader($0, 0, try $0.archive.exchange(0).body) }
            for reader in readers { #expect(try reader.read(0..<40, upTo: 10).bytes == Array(old.utf8.prefix(10))) }
            try folder.write(isReplaced ? "c" : "b", new)
            if isReplaced { try #require(rename(folder.at("c"), folder.at("b")) == 0) }
            for reader in readers {
                guard isReplaced else {
                    #expect(throws: EntryFailure.changed) { try reader.read(10..<40, upTo: 30) }
                    continue
                }
                #expect(try reader.read(10..<40, upTo: 30).bytes == Array(old.utf8.dropFirst(10)))
            }
        }
    }
}
