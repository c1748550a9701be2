import Basics
import Diagnostics
import JSON

/// Reads bodies of application/x-www-form-urlencoded (https://url.spec.whatwg.org/#urlencoded-parsing), but refuses
/// what that specification repairs: escapes that are none, and what is not UTF-8.
enum FormReader {
    /// A name and its value, decoded, in UTF-8.
    struct Field: Sendable, Hashable {
        let name: [UInt8]
        let value: [UInt8]
        /// Where it begins in the body, in bytes.
        let offset: Int
    }

    /// Reads a body.
    ///
    /// - Returns: the fields in their order; one without `=` has an empty value, and what is empty between two `&` is
    ///   none.
    /// - Throws: `TextError` at an escape that is none, at what is not UTF-8, and at a name that comes twice.
    static func fields(_ bytes: [UInt8]) throws(TextError) -> [Field] {
        var fields: [Field] = []
        var names: Set<[UInt8]> = []
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "&")) ?? bytes.count
            defer { start = end &+ 1 }
            if start == end { continue }
            let equals = bytes[start..<end].firstIndex(of: UInt8(ascii: "=")) ?? end
            let name = try decoded(bytes, start..<equals)
            let value = try decoded(bytes, min(equals &+ 1, end)..<end)
            if !names.insert(name).inserted {
                throw TextError("'\(visibleText(of: name, limit: 40))' comes twice", at: start)
            }
            fields.append(Field(name: name, value: value, offset: start))
        }
        return fields
    }

    private static func decoded(_ bytes: [UInt8], _ range: Range<Int>) throws(TextError) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(range.count)
        var index = range.lowerBound
        while index < range.upperBound {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%") {
                guard range.upperBound &- index > 2, let high = bytes[index &+ 1].hexValue,
                    let low = bytes[index &+ 2].hexValue
                else { throw TextError("% needs two hexadecimal digits", at: index) }
                text.append(high << 4 | low)
                index &+= 3
            } else {
                text.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
                index &+= 1
            }
        }
        guard firstInvalidUTF8(text) == nil else { throw TextError("this is not UTF-8", at: range.lowerBound) }
        return text
    }
}
