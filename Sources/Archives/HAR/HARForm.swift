import Basics
import HTTPSemantics

/// Makes the body of a form from the parameters that a HAR has instead of it.
enum HARForm {
    /// - Returns: nil where there are no parameters.
    static func body(_ content: HARContent) -> [UInt8]? {
        guard content.hasParameters else { return nil }
        if let boundary = boundary(content.mediaType) { return multipart(content.parameters, boundary) }
        return urlEncoded(content.parameters)
    }

    private static func boundary(_ type: [UInt8]) -> [UInt8]? {
        guard type.starts(withIgnoringCase: "multipart/form-data") else { return nil }
        return type.withUnsafeBytes { ParameterisedItem($0).parameter("boundary")?.unescapedValue }
    }

    /// `application/x-www-form-urlencoded` (WHATWG URL, §5.2).
    private static func urlEncoded(_ parameters: [HARParameter]) -> [UInt8] {
        // Some writers decode names and values, others leave them as they were sent.
        let isEncoded =
            parameters.contains { $0.name.contains(UInt8(ascii: "%")) || $0.value.contains(UInt8(ascii: "%")) }
            && parameters.allSatisfy { isEscaped($0.name) && isEscaped($0.value) }
        var body: [UInt8] = []
        for (index, parameter) in parameters.enumerated() {
            if index > 0 { body.append(UInt8(ascii: "&")) }
            append(parameter.name, isEncoded, to: &body)
            body.append(UInt8(ascii: "="))
            append(parameter.value, isEncoded, to: &body)
        }
        return body
    }

    private static func append(_ text: [UInt8], _ isEncoded: Bool, to body: inout [UInt8]) {
        guard !isEncoded else {
            body += text
            return
        }
        for byte in text {
            if isPlain(byte) {
                body.append(byte)
            } else if byte == 0x20 {
                body.append(UInt8(ascii: "+"))
            } else {
                body.append(UInt8(ascii: "%"))
                body += Hexadecimal.text([byte], .upper).utf8
            }
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isMember(of: .alphanumeric) || byte == UInt8(ascii: "*") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
    }

    private static func isEscaped(_ text: [UInt8]) -> Bool {
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard rest.popFirst()?.hexValue != nil, rest.popFirst()?.hexValue != nil else { return false }
            } else if !isPlain(byte), byte != UInt8(ascii: "+"), byte != UInt8(ascii: "~") {
                return false
            }
        }
        return true
    }

    /// `multipart/form-data` (RFC 7578), as browsers write it.
    private static func multipart(_ parameters: [HARParameter], _ boundary: [UInt8]) -> [UInt8] {
        var body: [UInt8] = []
        for parameter in parameters {
            body += Array("--".utf8) + boundary + Array("\r\nContent-Disposition: form-data; name=\"".utf8)
            quote(parameter.name, to: &body)
            if let fileName = parameter.fileName {
                body += Array("\"; filename=\"".utf8)
                quote(fileName, to: &body)
            }
            body += Array("\"\r\n".utf8)
            if let type = parameter.mediaType, HARResponseRules.isFieldValue(type), !type.isEmpty {
                body += Array("Content-Type: ".utf8) + type + [0x0D, 0x0A]
            }
            body += [0x0D, 0x0A] + parameter.value + [0x0D, 0x0A]
        }
        return body + Array("--".utf8) + boundary + Array("--\r\n".utf8)
    }

    private static func quote(_ text: [UInt8], to body: inout [UInt8]) {
        for byte in text {
            switch byte {
            case 0x0A, 0x0D, 0x22:
                body.append(UInt8(ascii: "%"))
                body += Hexadecimal.text([byte], .upper).utf8
            default: body.append(byte)
            }
        }
    }
}
