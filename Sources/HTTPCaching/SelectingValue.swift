import HTTPSemantics

/// The value of a selecting field in the form in which it is compared (RFC 9111 §4.1).
enum SelectingValue {
    /// What is known of a field's syntax.
    private enum Form {
        /// Nothing: the bytes count as they are.
        case opaque
        /// A list with parameters; whitespace beside `,` and `;` doesn't count.
        case list
        /// A list whose members have no case.
        case caselessList

        init(_ name: [UInt8], _ recognised: FieldName) {
            switch recognised {
            case .accept, .cacheControl: self = .list
            case .acceptEncoding: self = .caselessList
            case .other where name == Form.acceptLanguage || name == Form.acceptCharset: self = .caselessList
            default: self = .opaque
            }
        }

        private static let acceptLanguage = Array("accept-language".utf8)
        private static let acceptCharset = Array("accept-charset".utf8)
    }

    /// The normalised value; nil where the request has no such field. `name` is in lower case.
    static func value(
        _ name: [UInt8], _ recognised: FieldName, of request: FieldSection, _ version: HTTPVersion
    ) -> [UInt8]? {
        var value: [UInt8] = []
        let isPresent = forEachByte(name, recognised, of: request, version) { value.append($0) }
        return isPresent ? value : nil
    }

    /// Whether the normalised value is `expected`; nothing is allocated.
    static func equals(
        _ expected: [UInt8]?, _ name: [UInt8], _ recognised: FieldName, of request: FieldSection,
        _ version: HTTPVersion
    ) -> Bool {
        var index = 0
        var isEqual = true
        let other = expected ?? []
        let isPresent = forEachByte(name, recognised, of: request, version) { byte in
            isEqual = isEqual && index < other.count && other[index] == byte
            index &+= 1
        }
        return isPresent == (expected != nil) && isEqual && index == other.count
    }

    /// Fields that never reach the origin as the client sent them: those of one connection, and Host, which is made
    /// from the target. So no response was selected by them.
    private static let unforwarded = HopByHop.connectionFields.subtracting(FieldNameSet(.te)).union(FieldNameSet(.host))

    /// Calls `body` with each byte of the normalised value; false where the request has no such field.
    ///
    /// Lines are told apart: an origin that gets two may take the first, the last or both.
    private static func forEachByte(
        _ name: [UInt8], _ recognised: FieldName, of request: FieldSection, _ version: HTTPVersion,
        _ body: (UInt8) -> Void
    ) -> Bool {
        let isReceived = forEachReceivedByte(name, recognised, of: request, body)
        guard recognised == .via else { return isReceived }
        // The origin gets a line of this proxy behind what was received, in which the version alone differs from one
        // request to another: it stands for the line.
        if isReceived { body(UInt8(ascii: "\n")) }
        body(version.rawValue)
        return true
    }

    /// The same, of the lines that were received.
    private static func forEachReceivedByte(
        _ name: [UInt8], _ recognised: FieldName, of request: FieldSection, _ body: (UInt8) -> Void
    ) -> Bool {
        guard recognised == .other || request.contains(recognised) && !unforwarded.contains(recognised) else {
            return false
        }
        if recognised == .te {
            // What is forwarded of TE.
            guard request.contains(token: "trailers", in: .te) else { return false }
            for byte in "trailers".utf8 { body(byte) }
            return true
        }
        let form = Form(name, recognised)
        var isPresent = false
        for line in request.lines where line.name == recognised {
            if recognised == .other {
                let isNamed =
                    Int(line.nameLength) == name.count
                    && request.withName(line) { received in
                        received.elementsEqual(name) { $0.asciiLowercased == $1 }
                    }
                guard isNamed else { continue }
            }
            if isPresent { body(UInt8(ascii: "\n")) }
            isPresent = true
            request.withValue(line) { value in
                switch form {
                case .opaque:
                    for byte in value.trimmingOptionalWhitespace { body(byte) }
                case .list, .caselessList:
                    var needsSeparator = false
                    for element in FieldListElements(value) {
                        if needsSeparator { body(UInt8(ascii: ",")) }
                        needsSeparator = true
                        forEachByte(ofElement: element, isCaseless: form == .caselessList, body)
                    }
                }
            }
        }
        return isPresent
    }

    /// The bytes of a list element without the whitespace beside semicolons outside quoted strings. Empty parts stay:
    /// `de;` is no language range, and an origin may answer as if there was no field.
    private static func forEachByte(
        ofElement element: UnsafeRawBufferPointer, isCaseless: Bool, _ body: (UInt8) -> Void
    ) {
        var start = 0
        while true {
            let end = element.endOfElement(from: start, separator: UInt8(ascii: ";"))
            let part = UnsafeRawBufferPointer(rebasing: element[start..<end]).trimmingOptionalWhitespace
            for byte in part { body(isCaseless ? byte.asciiLowercased : byte) }
            guard end < element.count else { return }
            body(UInt8(ascii: ";"))
            start = end &+ 1
        }
    }
}
