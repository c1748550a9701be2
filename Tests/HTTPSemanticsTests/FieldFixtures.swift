import HTTPSemantics
import NIOCore

/// Calls `body` with the UTF-8 bytes of `text`.
func withBytes<Result>(_ text: String, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try Array(text.utf8).withUnsafeBytes(body)
}

func text(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

/// A field section of lines written as `Name: value`.
func fields(_ lines: String...) -> FieldSection { fields(lines) }

func fields(_ lines: [String]) -> FieldSection {
    var section = FieldSection()
    for line in lines {
        let parts = line.split(separator: ":", maxSplits: 1)
        section.append(name: parts[0].utf8, value: parts.count > 1 ? Array(parts[1].drop { $0 == " " }.utf8) : [])
    }
    return section
}

/// A request head as a parser makes it.
func head(_ method: String, _ target: String, _ fields: FieldSection = FieldSection()) -> RequestHead {
    var bytes = ByteBuffer(string: "\(method) \(target) HTTP/1.1\r\n")
    let start = bytes.readableBytes
    bytes.writeImmutableBuffer(fields.bytes)
    var lines = fields.lines
    for index in lines.indices {
        lines[index].nameStart += UInt32(start)
        lines[index].valueStart += UInt32(start)
    }
    let methodRange = 0..<method.utf8.count
    return RequestHead(
        method: withBytes(method) { Method($0) }, version: .http1_1, methodRange: methodRange,
        targetRange: methodRange.upperBound + 1..<methodRange.upperBound + 1 + target.utf8.count,
        fields: FieldSection(bytes: bytes, lines: lines))
}
