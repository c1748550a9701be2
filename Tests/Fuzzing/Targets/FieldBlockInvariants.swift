#if DEBUG || FUZZING
import HTTP1
import HTTP1Invariants
import HTTPSemantics
import NIOCore
import NIOHPACK

@testable import HTTP2

/// Properties of compressed field blocks (RFC 7541), and of the requests that are made of them (RFC 9113 §8).
enum FieldBlockInvariants {
    private static let maxBytes = 4000
    private static let maxLines = 40

    /// - Parameter bytes: blocks of one connection, each with its length in one byte before it.
    static func check(_ bytes: [UInt8]) throws {
        var decoder = HPACKReader(maxBytes: maxBytes, maxLines: maxLines)
        var second = decoder
        var other = HPACKDecoder(
            allocator: ByteBufferAllocator(), maxDynamicTableSize: 4096, maxHeaderListSize: 1 << 20)
        var otherHasFailed = false
        var fields = FieldBlock()
        var rest = bytes[...]
        while let length = rest.popFirst() {
            let block = Array(rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length))
            var again = FieldBlock()
            let isSound = decode(block, &decoder, &fields)
            try require(decode(block, &second, &again) == isSound, "not the same the second time")
            try checkForm(fields)
            guard isSound else { return }
            try require(again.bytes == fields.bytes, "\(again.bytes), not \(fields.bytes)")
            if !otherHasFailed {
                var buffer = ByteBuffer(bytes: block)
                if let headers = try? other.decodeHeaders(from: &buffer) {
                    try checkSame(fields, headers)
                } else {
                    otherHasFailed = true
                }
            }
            try checkWriting(fields)
            try checkRequest(fields)
        }
    }

    private static func decode(
        _ block: [UInt8], _ decoder: inout HPACKReader, _ fields: inout FieldBlock
    ) -> Bool {
        do {
            try block.withRawBytes { bytes throws(HPACKReader.Failure) in
                try decoder.decode(bytes, into: &fields)
            }
            return true
        } catch {
            return false
        }
    }

    private static func lines(_ fields: FieldBlock) -> [TracedField] {
        fields.lines.map { TracedField(Array(fields.bytes[$0.name]), Array(fields.bytes[$0.value])) }
    }

    private static func checkForm(_ fields: FieldBlock) throws {
        // The crumbs of Cookie are one field (RFC 9113 §8.2.3).
        let names = fields.lines.map { Array(fields.bytes[$0.name]) }
        let crumbs = names.count { $0.elementsEqual("cookie".utf8) }
        let count = names.count - max(0, crumbs - 1)
        try require(count <= maxLines, "\(count) fields")
        var end = 0
        var size = 0
        for line in fields.lines {
            try require(line.start == end && line.nameLength >= 0 && line.valueLength >= 0, "line \(line)")
            end = line.value.upperBound
            size += line.nameLength + line.valueLength + 32
        }
        try require(end <= fields.bytes.count && size <= maxBytes, "\(end) of \(fields.bytes.count), size \(size)")
    }

    /// Another decoder makes the same of the block; it knows no bytes that are not UTF-8.
    private static func checkSame(_ fields: FieldBlock, _ headers: HPACKHeaders) throws {
        let lines = lines(fields).map {
            [String(decoding: $0.name, as: UTF8.self), String(decoding: $0.value, as: UTF8.self)]
        }
        let others = headers.map { [$0.name, $0.value] }
        let isSame = fields.isTooLarge ? others.starts(with: lines.prefix(1)) || lines.isEmpty : others == lines
        try require(isSame, "\(others), not \(lines)")
    }

    /// What was read is read again after having been written without any compression.
    private static func checkWriting(_ fields: FieldBlock) throws {
        var block: [UInt8] = []
        for field in lines(fields) {
            block.append(0)
            for text in [field.name, field.value] {
                var length = text.count
                block.append(UInt8(min(length, 127)))
                if length >= 127 {
                    length -= 127
                    while length >= 128 {
                        block.append(UInt8(length & 127) | 128)
                        length >>= 7
                    }
                    block.append(UInt8(length))
                }
                block += text
            }
        }
        var decoder = HPACKReader(maxBytes: maxBytes, maxLines: maxLines)
        var again = FieldBlock()
        try require(decode(block, &decoder, &again) && lines(again) == lines(fields), "written: \(block)")
    }

    /// A request that is made of fields is one to a parser of HTTP/1 too, and only that one.
    private static func checkRequest(_ fields: FieldBlock) throws {
        for hasContent in [false, true] {
            guard let head = try? HTTP2RequestHead.make(fields, hasContent: hasContent, maxTargetBytes: 1 << 15)
            else { continue }
            var written = head.fields.bytes
            written.writeString("\r\n")
            var parser = RequestParser()
            parser.feed(&written)
            let event: RequestEvent?
            do throws(HTTP1Error) {
                event = try parser.next()
            } catch {
                // It is no host that a tunnel or a listener has, so the request is refused without being forwarded.
                guard error == .invalidHost else { throw error }
                continue
            }
            guard case .head(let parsed, let framing) = event else {
                throw InvariantViolation("no request: \(String(buffer: head.fields.bytes))")
            }
            let isSame =
                parsed.methodBytes == head.methodBytes && parsed.targetBytes == head.targetBytes
                && parsed.fields.traced == head.fields.traced && parsed.version == .http1_1
            try require(isSame, "\(String(buffer: parsed.bytes)), not \(String(buffer: head.fields.bytes))")
            try require(hasContent || framing == .none || framing == .length(0), "framing \(framing)")
            try require(!parser.hasBufferedBytes, "more than one request")
        }
    }
}
#endif
