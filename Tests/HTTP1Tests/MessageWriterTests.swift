import HTTP1
import HTTP1Invariants
import HTTPSemantics
import NIOCore
import Testing

@Suite("Writing messages")
struct MessageWriterTests {
    private func written(_ write: (inout ByteBuffer) throws -> Void) rethrows -> String {
        var buffer = ByteBuffer()
        try write(&buffer)
        return String(buffer: buffer)
    }

    @Test("writes status lines with the registered phrase, an empty one for other codes, or a given one")
    func statusLines() throws {
        #expect(written { MessageWriter.writeStatusLine(200, to: &$0) } == "HTTP/1.1 200 OK\r\n")
        #expect(
            written { MessageWriter.writeStatusLine(431, to: &$0) }
                == "HTTP/1.1 431 Request Header Fields Too Large\r\n")
        #expect(written { MessageWriter.writeStatusLine(299, to: &$0) } == "HTTP/1.1 299 \r\n")
        let given = try written { buffer in
            try Array("All right".utf8).withUnsafeBytes {
                try MessageWriter.writeStatusLine(200, reason: $0, to: &buffer)
            }
        }
        #expect(given == "HTTP/1.1 200 All right\r\n")
        for status in 100..<600 {
            let line = written { MessageWriter.writeStatusLine(status, to: &$0) }
            #expect(responseTrace([ByteBuffer(string: line + "\r\n")], to: .head).error != .invalidStatusLine)
        }
    }

    @Test("knows a phrase for every registered status code")
    func reasonPhrases() {
        let registered =
            Array(100...104) + Array(200...208) + [226] + Array(300...305) + [307, 308] + Array(400...417)
            + Array(421...426) + [428, 429, 431, 451] + Array(500...508) + [510, 511]
        for status in 0..<1000 {
            #expect((ReasonPhrase.of(status).utf8CodeUnitCount > 0) == registered.contains(status), "\(status)")
        }
    }

    @Test(
        "writes numbers",
        arguments: [
            (0, "0", "0"), (9, "9", "9"), (10, "10", "a"), (255, "255", "ff"), (256, "256", "100"),
            (4096, "4096", "1000"),
            (.max, "9223372036854775807", "7fffffffffffffff"), (-1, "0", "0"), (.min, "0", "0"),
        ] as [(Int, String, String)])
    func numbers(_ number: Int, _ decimal: String, _ hexadecimal: String) {
        #expect(written { MessageWriter.writeDecimal(number, to: &$0) } == decimal)
        #expect(written { MessageWriter.writeHexadecimal(number, to: &$0) } == hexadecimal)
    }

    @Test("writes field lines")
    func fields() throws {
        let text = try written { buffer in
            MessageWriter.writeField("Accept-Ranges", "bytes", to: &buffer)
            MessageWriter.writeField("Content-Length", decimal: 42, to: &buffer)
            try MessageWriter.writeField("Via", value: Array("1.1 x".utf8), to: &buffer)
            try MessageWriter.writeField(name: Array("X-A".utf8), value: Array("\tb \u{e9}".utf8), to: &buffer)
            MessageWriter.writeEndOfSection(to: &buffer)
        }
        #expect(text == "Accept-Ranges: bytes\r\nContent-Length: 42\r\nVia: 1.1 x\r\nX-A: \tb \u{e9}\r\n\r\n")
    }

    @Test("never writes a byte into a value, name, target or phrase that could end its line")
    func injection() throws {
        for byte in UInt8.min...UInt8.max {
            for bytes in [[byte], Array("abcdefghij".utf8) + [byte], [byte] + Array("abcdefghij".utf8)] {
                var buffer = ByteBuffer()
                let isValue = byte.isMember(of: .fieldValue)
                let isToken = byte.isMember(of: .token)
                let isTarget = byte > 0x20 && byte != 0x7f
                #expect((try? MessageWriter.writeField("X", value: bytes, to: &buffer)) != nil || !isValue)
                #expect((buffer.readableBytes > 0) == isValue)
                buffer.clear()
                try? MessageWriter.writeField(name: Array("X".utf8), value: bytes, to: &buffer)
                #expect((buffer.readableBytes > 0) == isValue)
                buffer.clear()
                try? MessageWriter.writeField(name: bytes, value: [], to: &buffer)
                #expect((buffer.readableBytes > 0) == isToken)
                buffer.clear()
                bytes.withUnsafeBytes { try? MessageWriter.writeStatusLine(200, reason: $0, to: &buffer) }
                #expect((buffer.readableBytes > 0) == isValue)
                buffer.clear()
                bytes.withUnsafeBytes { try? MessageWriter.writeRequestLine(method: $0, target: $0, to: &buffer) }
                #expect((buffer.readableBytes > 0) == (isToken && isTarget))
            }
        }
        var buffer = ByteBuffer()
        #expect(throws: HTTP1Error.invalidFieldName) { try MessageWriter.writeField(name: [], value: [], to: &buffer) }
        #expect(throws: HTTP1Error.invalidFieldValue) {
            try MessageWriter.writeField("X", value: Array("a\r\nSet-Cookie: b".utf8), to: &buffer)
        }
        #expect(buffer.readableBytes == 0)
    }

    @Test("copies the lines of a section that a filter chooses, as received but for whitespace around values")
    func copying() throws {
        var parser = RequestParser()
        var received = ByteBuffer(string: "GET / HTTP/1.1\r\nhOST:a\r\nX-A:  b\t\r\nConnection: close\r\nX-E:\r\n\r\n")
        parser.feed(&received)
        guard case .head(let head, _)? = try parser.next() else {
            Issue.record("no head")
            return
        }
        let text = written { MessageWriter.writeFields(of: head.fields, to: &$0) { $0.name != .connection } }
        #expect(text == "hOST: a\r\nX-A: b\r\nX-E: \r\n")
        #expect(written { MessageWriter.writeFields(of: head.fields, to: &$0) }.contains("Connection: close\r\n"))
        #expect(written { MessageWriter.writeFields(of: FieldSection(), to: &$0) } == "")
    }

    @Test("writes chunks that are decoded to the same bytes, and no empty one")
    func chunks() {
        let text = written { buffer in
            for piece in ["hello", "", String(repeating: "x", count: 300)] {
                guard MessageWriter.writeChunkHead(piece.utf8.count, to: &buffer) else { continue }
                buffer.writeString(piece)
                MessageWriter.writeChunkTail(to: &buffer)
            }
            MessageWriter.writeLastChunk(to: &buffer)
        }
        #expect(text.hasPrefix("5\r\nhello\r\n12c\r\n") && text.hasSuffix("\r\n0\r\n\r\n"))
        let (trace, left) = chunkedTrace([ByteBuffer(string: text)])
        #expect(trace.body.count == 305 && trace.error == nil && left == 0)
    }

    @Test("writes those trailers that may be passed on")
    func trailers() {
        var trailers = FieldSection()
        for (name, value) in [("X-Checksum", "1"), ("Content-Length", "5"), ("Host", "evil"), ("Content-Digest", "d")] {
            trailers.append(name: Array(name.utf8), value: Array(value.utf8))
        }
        let text = written { MessageWriter.writeLastChunk(trailers: trailers, to: &$0) }
        #expect(text == "0\r\nX-Checksum: 1\r\nContent-Digest: d\r\n\r\n")
    }
}
