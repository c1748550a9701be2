extension JSONOutput {
    /// Whether a text in a JSON column is shown as the value that it is.
    static func isJSON(_ text: [UInt8]) -> Bool {
        var output = JSONOutput()
        return text.withUnsafeBufferPointer { output.append(json: $0) }
    }

    /// Appends JSON text without the blanks between its tokens.
    ///
    /// - Returns: whether the text is valid JSON (RFC 8259) of at most `levels` levels; if not, nothing is appended.
    mutating func append(json text: UnsafeBufferPointer<UInt8>, levels: Int = 64) -> Bool {
        let begin = count
        var scanner = JSONCompaction(text, levels: levels)
        guard scanner.run(&self) else {
            truncate(to: begin)
            return false
        }
        return true
    }
}

/// Reads JSON text to its end, and copies its tokens.
private struct JSONCompaction {
    private let text: UnsafeBufferPointer<UInt8>
    private let levels: Int
    private var index = 0
    /// For each level whether it is an object.
    private var stack: [Bool] = []

    init(_ text: UnsafeBufferPointer<UInt8>, levels: Int) {
        self.text = text
        self.levels = levels
    }

    private var next: UInt8? { index < text.count ? text[index] : nil }

    mutating func run(_ output: inout JSONOutput) -> Bool {
        while true {
            // A value begins here.
            skipBlanks()
            guard let byte = next else { return false }
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard stack.count < levels else { return false }
                let isObject = byte == UInt8(ascii: "{")
                take(&output)
                skipBlanks()
                if next == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    take(&output)
                    break
                }
                stack.append(isObject)
                if isObject { guard member(&output) else { return false } }
                continue
            case UInt8(ascii: "\""): guard string(&output) else { return false }
            case UInt8(ascii: "-"), 0x30...0x39: guard number(&output) else { return false }
            case UInt8(ascii: "t"): guard word("true", &output) else { return false }
            case UInt8(ascii: "f"): guard word("false", &output) else { return false }
            case UInt8(ascii: "n"): guard word("null", &output) else { return false }
            default: return false
            }
            // A value has ended here.
            while true {
                skipBlanks()
                guard let isObject = stack.last else { return next == nil }
                guard let byte = next else { return false }
                if byte == UInt8(ascii: ",") {
                    take(&output)
                    if isObject { guard member(&output) else { return false } }
                    break
                }
                guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { return false }
                take(&output)
                stack.removeLast()
            }
        }
    }

    private mutating func take(_ output: inout JSONOutput) {
        output.append(byte: text[index])
        index += 1
    }

    private mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { index += 1 }
    }

    private mutating func member(_ output: inout JSONOutput) -> Bool {
        skipBlanks()
        guard next == UInt8(ascii: "\""), string(&output) else { return false }
        skipBlanks()
        guard next == UInt8(ascii: ":") else { return false }
        take(&output)
        return true
    }

    private mutating func string(_ output: inout JSONOutput) -> Bool {
        let begin = index
        index += 1
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                output.append(bytes: UnsafeBufferPointer(rebasing: text[begin..<index]))
                return true
            case UInt8(ascii: "\\"):
                index += 1
                guard let escape = next else { return false }
                index += 1
                switch escape {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
                    UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
                    break
                case UInt8(ascii: "u"):
                    for _ in 0..<4 {
                        guard let digit = next, digit.isHexadecimalDigit else { return false }
                        index += 1
                    }
                default: return false
                }
            case 0..<0x20: return false
            case 0x20..<0x80: index += 1
            default:
                let length = JSONOutput.sequenceLength(text, at: index)
                guard length > 0 else { return false }
                index += length
            }
        }
        return false
    }

    private mutating func number(_ output: inout JSONOutput) -> Bool {
        let begin = index
        if next == UInt8(ascii: "-") { index += 1 }
        if next == UInt8(ascii: "0") { index += 1 } else { guard digits() else { return false } }
        if next == UInt8(ascii: ".") {
            index += 1
            guard digits() else { return false }
        }
        if let byte = next, byte | 0x20 == UInt8(ascii: "e") {
            index += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { index += 1 }
            guard digits() else { return false }
        }
        output.append(bytes: UnsafeBufferPointer(rebasing: text[begin..<index]))
        return true
    }

    private mutating func digits() -> Bool {
        let begin = index
        while let byte = next, (0x30...0x39).contains(byte) { index += 1 }
        return index > begin
    }

    private mutating func word(_ word: StaticString, _ output: inout JSONOutput) -> Bool {
        let count = word.utf8CodeUnitCount
        guard text.count - index >= count else { return false }
        for offset in 0..<count where text[index + offset] != word.utf8Start[offset] { return false }
        output.append(word)
        index += count
        return true
    }
}

extension UInt8 {
    fileprivate var isHexadecimalDigit: Bool {
        (0x30...0x39).contains(self) || (0x41...0x46).contains(self) || (0x61...0x66).contains(self)
    }
}
