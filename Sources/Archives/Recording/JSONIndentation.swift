/// Writes JSON with a member or element a line, indented by two blanks.
enum JSONIndentation {
    /// A text gets so many times as long at the most, beyond a few kilobytes: brackets in brackets have long lines of
    /// blanks.
    private static let mostTimes = 8

    /// - Returns: nil for what is no JSON, nests too deeply, or would be far longer.
    static func indented(_ json: [UInt8]) -> [UInt8]? {
        var scanner = JSONScanner(ArchiveBytes(json))
        do throws(JSONError) {
            try scanner.beginning()
            try scanner.skipValue()
            guard try scanner.isAtEnd() else { return nil }
        } catch {
            return nil
        }
        return lines(json)
    }

    /// What is JSON is known to be so: strings and brackets are all that counts.
    private static func lines(_ json: [UInt8]) -> [UInt8]? {
        let most = mostTimes * json.count + 16_384
        var result: [UInt8] = []
        result.reserveCapacity(json.count * 2)
        var depth = 0
        var index = 0
        func skipBlanks() {
            while index < json.count, json[index] <= 0x20 { index += 1 }
        }
        func startLine() {
            result.append(0x0A)
            result += repeatElement(0x20, count: 2 * max(depth, 0))
        }
        while index < json.count {
            guard result.count <= most else { return nil }
            let byte = json[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""):
                result.append(byte)
                var isEscaped = false
                while index < json.count {
                    let next = json[index]
                    index += 1
                    result.append(next)
                    if !isEscaped, next == UInt8(ascii: "\"") { break }
                    isEscaped = !isEscaped && next == UInt8(ascii: "\\")
                }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                result.append(byte)
                skipBlanks()
                if index < json.count, json[index] == byte + 2 {
                    result.append(json[index])
                    index += 1
                } else {
                    depth += 1
                    startLine()
                }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                startLine()
                result.append(byte)
            case UInt8(ascii: ","):
                result.append(byte)
                startLine()
            case UInt8(ascii: ":"): result += [byte, 0x20]
            case 0...0x20: break
            default: result.append(byte)
            }
        }
        return result + [0x0A]
    }
}
