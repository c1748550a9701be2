import Basics
import Glibc
import HTTPSemantics

/// How a part's body is coded (RFC 2045 §6).
enum TransferEncoding: Sendable {
    /// Also 7bit, 8bit, and where nothing is said.
    case binary
    case base64, quotedPrintable

    /// - Returns: nil for another coding.
    init?(_ value: [UInt8]?) {
        guard let value, !value.isEmpty else {
            self = .binary
            return
        }
        let known: TransferEncoding? = value.withUnsafeBytes {
            if $0.equalsIgnoringCase("base64") { return .base64 }
            if $0.equalsIgnoringCase("quoted-printable") { return .quotedPrintable }
            let isPlain =
                $0.equalsIgnoringCase("7bit") || $0.equalsIgnoringCase("8bit") || $0.equalsIgnoringCase("binary")
            return isPlain ? .binary : nil
        }
        guard let known else { return nil }
        self = known
    }
}

/// Decodes base64 as mail has it, piece by piece: other characters are passed over (RFC 2045 §6.8).
struct Base64Decoder {
    private var bits: UInt32 = 0
    private var characters = 0
    private var isPadded = false
    /// Where in all that was decoded the first wrong character stands.
    private(set) var wrong: Int?
    private var position = 0

    /// 0 to 63; 64 for line breaks and blanks, 65 for `=`, 66 for what is no base64.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 66, count: 256)
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (value, character) in alphabet.utf8.enumerated() { values[Int(character)] = UInt8(value) }
        for blank: UInt8 in [0x20, 0x09, 0x0A, 0x0D] { values[Int(blank)] = 64 }
        values[0x3D] = 65
        return values
    }()

    mutating func decode(_ text: UnsafeRawBufferPointer, into output: inout [UInt8]) {
        output.reserveCapacity(output.count + text.count / 4 * 3 + 3)
        Base64Decoder.values.withUnsafeBufferPointer { values in
            var index = 0
            while index < text.count {
                // Four characters of the alphabet together are what most of a body is.
                while characters == 0, !isPadded, index + 4 <= text.count {
                    let first = values[Int(text[index])]
                    let second = values[Int(text[index + 1])]
                    let third = values[Int(text[index + 2])]
                    let fourth = values[Int(text[index + 3])]
                    guard (first | second | third | fourth) < 64 else { break }
                    output.append(first << 2 | second >> 4)
                    output.append(second << 4 | third >> 2)
                    output.append(third << 6 | fourth)
                    index += 4
                }
                guard index < text.count else { break }
                let value = values[Int(text[index])]
                decode(value, at: position + index, into: &output)
                index += 1
            }
        }
        position += text.count
    }

    private mutating func decode(_ value: UInt8, at offset: Int, into output: inout [UInt8]) {
        switch value {
        case 64: return
        case 65:
            // Padding ends a group; what follows it begins another one, as where texts are put together.
            if characters < 2, !isPadded { wrong = wrong ?? offset }
            endGroup(into: &output)
            isPadded = true
        case 66: wrong = wrong ?? offset
        default:
            isPadded = false
            bits = bits << 6 | UInt32(value)
            characters += 1
            guard characters == 4 else { return }
            output.append(UInt8(truncatingIfNeeded: bits >> 16))
            output.append(UInt8(truncatingIfNeeded: bits >> 8))
            output.append(UInt8(truncatingIfNeeded: bits))
            (bits, characters) = (0, 0)
        }
    }

    /// Appends what the last group has where it isn't whole.
    mutating func finish(into output: inout [UInt8]) {
        if characters > 0 { wrong = wrong ?? position }
        endGroup(into: &output)
    }

    private mutating func endGroup(into output: inout [UInt8]) {
        if characters == 2 { output.append(UInt8(truncatingIfNeeded: bits >> 4)) }
        if characters == 3 {
            output.append(UInt8(truncatingIfNeeded: bits >> 10))
            output.append(UInt8(truncatingIfNeeded: bits >> 2))
        }
        (bits, characters) = (0, 0)
    }
}

/// Decodes quoted-printable, piece by piece (RFC 2045 §6.7): what is none stays as it is, but for blanks at the end of
/// a line, which mail adds and takes away (rule 3).
struct QuotedPrintableDecoder {
    /// Whether it is text in lines, and not a word of a header field.
    private let hasLines: Bool
    /// Blanks and CR behind which the line may end.
    private var pending: [UInt8] = []
    /// An escape whose end is not there yet.
    private var held: [UInt8] = []
    /// Where in all that was decoded the first wrong escape stands.
    private(set) var wrong: Int?
    private var position = 0
    /// The most blanks between `=` and the line's end.
    private static let blanks = 1000

    private enum Escape {
        case byte(UInt8, length: Int)
        case softBreak(length: Int)
        case wrong, unfinished
    }

    init(hasLines: Bool = true) { self.hasLines = hasLines }

    mutating func decode(_ text: UnsafeRawBufferPointer, into output: inout [UInt8]) {
        decode(text, isLast: false, into: &output)
    }

    /// Appends what was held back at the end.
    mutating func finish(into output: inout [UInt8]) {
        decode(.init(start: nil, count: 0), isLast: true, into: &output)
    }

    /// Memory for what is decoded: no more than what is read and what was held back.
    private struct Sink {
        private let memory: UnsafeMutableRawBufferPointer
        private(set) var count = 0

        init(_ memory: UnsafeMutableBufferPointer<UInt8>) { self.memory = UnsafeMutableRawBufferPointer(memory) }

        @inline(__always)
        mutating func append(_ byte: UInt8) {
            guard count < memory.count else { return }
            memory[count] = byte
            count &+= 1
        }

        @inline(__always)
        mutating func append(_ bytes: UnsafeRawBufferPointer) {
            guard bytes.count > 0, bytes.count <= memory.count &- count else { return }
            memory[count...].copyBytes(from: bytes)
            count &+= bytes.count
        }
    }

    private mutating func decode(_ text: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8]) {
        guard held.isEmpty else {
            let whole = held + text
            held = []
            position -= whole.count - text.count
            whole.withUnsafeBytes { decodeWhole($0, isLast: isLast, into: &output) }
            return
        }
        decodeWhole(text, isLast: isLast, into: &output)
    }

    private mutating func decodeWhole(_ text: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8]) {
        output += [UInt8](unsafeUninitializedCapacity: text.count + pending.count) { memory, written in
            var sink = Sink(memory)
            decodeWhole(text, isLast: isLast, into: &sink)
            if isLast { if hasLines { endLine(into: &sink) } else { flush(into: &sink) } }
            written = sink.count
        }
    }

    private mutating func decodeWhole(_ text: UnsafeRawBufferPointer, isLast: Bool, into sink: inout Sink) {
        var index = 0
        while index < text.count, let base = text.baseAddress {
            guard let found = memchr(base + index, 0x3D, text.count - index) else {
                append(text.rebased(index..<text.count), into: &sink)
                break
            }
            let equals = UnsafeRawPointer(found) - base
            append(text.rebased(index..<equals), into: &sink)
            // In front of an escape they are text.
            flush(into: &sink)
            switch QuotedPrintableDecoder.escape(text, at: equals) {
            case .byte(let byte, let length):
                sink.append(byte)
                index = equals + length
            case .softBreak(let length): index = equals + length
            case .unfinished where !isLast:
                held = Array(text.rebased(equals..<text.count))
                index = text.count
            case .unfinished where text[(equals + 1)...].allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }:
                // A soft line break, whose line end belongs to the boundary behind it.
                index = text.count
            case .unfinished, .wrong:
                wrong = wrong ?? position + equals
                sink.append(0x3D)
                index = equals + 1
            }
        }
        position += text.count
    }

    /// Appends text without escapes.
    private mutating func append(_ text: UnsafeRawBufferPointer, into sink: inout Sink) {
        var rest = text
        while let base = rest.baseAddress, let found = memchr(base, 0x0A, rest.count) {
            let end = UnsafeRawPointer(found) - base
            appendLine(rest.rebased(0..<end), into: &sink)
            endLine(into: &sink)
            sink.append(0x0A)
            rest = rest.rebased(end + 1..<rest.count)
        }
        appendLine(rest, into: &sink)
    }

    /// Appends a part of a line, but for what at its end may be that of the line.
    private mutating func appendLine(_ text: UnsafeRawBufferPointer, into sink: inout Sink) {
        var end = text.count
        while end > 0, text[end - 1] == 0x20 || text[end - 1] == 0x09 || text[end - 1] == 0x0D { end -= 1 }
        if end > 0 || pending.count > QuotedPrintableDecoder.blanks { flush(into: &sink) }
        sink.append(text.rebased(0..<end))
        if end < text.count { pending.append(contentsOf: text.rebased(end..<text.count)) }
    }

    private mutating func flush(into sink: inout Sink) {
        guard !pending.isEmpty else { return }
        pending.withUnsafeBytes { sink.append($0) }
        pending.removeAll(keepingCapacity: true)
    }

    /// Appends the CR that end a line, and not the blanks before them.
    private mutating func endLine(into sink: inout Sink) {
        guard !pending.isEmpty else { return }
        let start = pending.lastIndex { $0 != 0x0D }.map { $0 + 1 } ?? 0
        pending.withUnsafeBytes { sink.append($0.rebased(start..<$0.count)) }
        pending.removeAll(keepingCapacity: true)
    }

    private static func escape(_ text: UnsafeRawBufferPointer, at equals: Int) -> Escape {
        var index = equals + 1
        guard index < text.count else { return .unfinished }
        if let high = text[index].hexValue {
            guard index + 1 < text.count else { return .unfinished }
            guard let low = text[index + 1].hexValue else { return .wrong }
            return .byte(high << 4 | low, length: 3)
        }
        let end = min(text.count, index + blanks)
        while index < end, text[index] == 0x20 || text[index] == 0x09 || text[index] == 0x0D { index += 1 }
        guard index < text.count else { return .unfinished }
        return text[index] == 0x0A ? .softBreak(length: index + 1 - equals) : .wrong
    }
}
