import Basics
import HTTPSemantics

/// Writes the `request` of an entry.
enum HARRequestWriter {
    static func write(_ exchange: RecordedExchange, to json: inout JSONLine) {
        json.raw(#"{"method":"#)
        json.string(exchange.method)
        json.raw(#","url":"#)
        let url = RecordedURL.repaired(exchange.url)
        json.string(url)
        json.raw(#","httpVersion":"#)
        json.string(exchange.httpVersion)
        json.raw(#","cookies":"#)
        HARCookies.write(exchange.requestFields, to: &json)
        json.raw(#","headers":"#)
        json.fields(exchange.requestFields)
        json.raw(#","queryString":["#)
        let query = url.firstIndex(of: UInt8(ascii: "?")).map { url[($0 + 1)...] } ?? []
        for (index, pair) in query.split(separator: UInt8(ascii: "&")).enumerated() {
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            json.raw(index == 0 ? #"{"name":"# : #",{"name":"#)
            json.string(decoded(name))
            json.raw(#","value":"#)
            json.string(decoded(pair.dropFirst(name.count + 1)))
            json.raw("}")
        }
        json.raw("]")
        if let body = exchange.requestBody, !body.isEmpty {
            json.raw(#","postData":{"mimeType":"#)
            let type = exchange.requestFields.first { $0.isNamed("content-type") }?.value
            json.string(type ?? Array("application/octet-stream".utf8))
            if String(validating: body, as: UTF8.self) != nil {
                json.raw(#","text":"#)
                json.string(body)
            } else {
                json.raw(#","encoding":"base64","text":""#)
                var base64 = Base64Encoder()
                base64.encode(body, into: &json.bytes)
                base64.finish(into: &json.bytes)
                json.raw("\"")
            }
            json.raw("}")
        }
        json.raw(#","headersSize":-1,"bodySize":\#(exchange.requestBody?.count ?? 0)}"#)
    }

    /// A name or value of a query, its escapes and `+` decoded.
    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let high = digits.first?.hexValue,
                let low = digits.last?.hexValue
            {
                decoded.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return decoded
    }
}

extension RecordedExchange {
    /// What HAR has in `httpVersion`, which has to be there.
    var httpVersion: [UInt8] { version.isEmpty ? Array("HTTP/1.1".utf8) : version }
}

/// Writes `cookies`, which HAR has beside the fields.
enum HARCookies {
    static func write(_ fields: [RecordedField], to json: inout JSONLine) {
        json.raw("[")
        var isFirst = true
        for field in fields {
            if field.isNamed("cookie") {
                for pair in field.value.split(separator: UInt8(ascii: ";")) {
                    begin(pair, &isFirst, to: &json)
                    json.raw("}")
                }
            } else if field.isNamed("set-cookie") {
                let parts = field.value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
                begin(parts[0], &isFirst, to: &json)
                attributes(parts.dropFirst(), to: &json)
                json.raw("}")
            }
        }
        json.raw("]")
    }

    private static func begin(_ pair: ArraySlice<UInt8>, _ isFirst: inout Bool, to json: inout JSONLine) {
        let (name, value) = split(pair)
        json.raw(isFirst ? #"{"name":"# : #",{"name":"#)
        json.string(name)
        json.raw(#","value":"#)
        json.string(value)
        isFirst = false
    }

    private static func attributes(_ parts: ArraySlice<ArraySlice<UInt8>>, to json: inout JSONLine) {
        var written: Set<String> = []
        for part in parts {
            let (name, value) = split(part)
            let key = String(decoding: name.map(\.asciiLowercased), as: UTF8.self)
            guard written.insert(key).inserted else { continue }
            switch key {
            case "path", "domain":
                json.raw(",\"\(key)\":")
                json.string(value)
            case "httponly": json.raw(#","httpOnly":true"#)
            case "secure": json.raw(#","secure":true"#)
            default: break
            }
        }
    }

    private static func split(_ pair: ArraySlice<UInt8>) -> (name: [UInt8], value: [UInt8]) {
        let name = pair.prefix { $0 != UInt8(ascii: "=") }
        let value = pair.dropFirst(name.count + 1)
        return (
            name.withUnsafeBytes { Array($0.trimmingOptionalWhitespace) },
            value.withUnsafeBytes { Array($0.trimmingOptionalWhitespace) }
        )
    }
}

/// A line of JSON that is being written.
struct JSONLine {
    var bytes: [UInt8] = []

    mutating func raw(_ text: String) { bytes += text.utf8 }

    mutating func string(_ text: String) { string(Array(text.utf8)) }

    /// A string. Bytes that are no UTF-8 are taken for ISO 8859-1, as fields of HTTP once were.
    mutating func string(_ text: [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        if String(validating: text, as: UTF8.self) != nil {
            JSONLine.escape(text, to: &bytes)
        } else {
            let characters = String(String.UnicodeScalarView(text.map { Unicode.Scalar($0) }))
            JSONLine.escape(Array(characters.utf8), to: &bytes)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func fields(_ fields: [RecordedField]) {
        raw("[")
        for (index, field) in fields.enumerated() {
            raw(index == 0 ? #"{"name":"# : #",{"name":"#)
            string(field.name)
            raw(#","value":"#)
            string(field.value)
            raw("}")
        }
        raw("]")
    }

    /// Appends text in UTF-8 as it stands between the quotes of a string.
    static func escape(_ text: [UInt8], to bytes: inout [UInt8]) {
        var start = 0
        for (index, byte) in text.enumerated() where byte < 0x20 || byte == 0x22 || byte == 0x5C {
            guard let letter = JSONText.escape(of: byte) else { continue }
            bytes += text[start..<index]
            bytes += [0x5C, letter]
            if letter == UInt8(ascii: "u") {
                bytes += [0x30, 0x30, Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte)]
            }
            start = index + 1
        }
        bytes += text[start...]
    }
}

/// Writes base64 piece by piece (RFC 4648 §4).
struct Base64Encoder: Sendable {
    private var bits: UInt32 = 0
    private var count = 0

    private static let alphabet: InlineArray<64, UInt8> = {
        var alphabet = InlineArray<64, UInt8>(repeating: 0)
        let text: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        text.withUTF8Buffer { for (value, byte) in $0.enumerated() { alphabet[value] = byte } }
        return alphabet
    }()

    mutating func encode(_ bytes: [UInt8], into text: inout [UInt8]) {
        text.reserveCapacity(text.count + bytes.count / 3 * 4 + 8)
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 1
            if count == 3 { flush(4, into: &text) }
        }
    }

    mutating func finish(into text: inout [UInt8]) {
        guard count > 0 else { return }
        let characters = count + 1
        bits <<= UInt32(8 * (3 - count))
        flush(characters, into: &text)
        for _ in characters..<4 { text.append(UInt8(ascii: "=")) }
    }

    private mutating func flush(_ characters: Int, into text: inout [UInt8]) {
        for index in 0..<characters {
            text.append(Base64Encoder.alphabet[Int(bits >> UInt32(18 - 6 * index) & 63)])
        }
        bits = 0
        count = 0
    }
}
