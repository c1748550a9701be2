/// The Via field: what a proxy adds, and whether a message has been here before (RFC 9110 §7.6.3).
public enum Via {
    /// `1.1 subproxy-1a2b3c4d`: the protocol that the message was received in, and the proxy's pseudonym.
    public static func entry(_ version: HTTPVersion, pseudonym: some Sequence<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        switch version {
        case .http1_0: out.append("1.0 ")
        case .http1_1: out.append("1.1 ")
        case .http2: out.append("2.0 ")
        }
        out.append(contentsOf: pseudonym)
        return out
    }

    /// Whether `pseudonym` is a received-by of any Via line, ASCII case and a port ignored.
    ///
    /// Comments may hold commas and don't count, unless one has no end: then that line is read as if it had no
    /// comments, so that nothing before our own entry can hide it.
    public static func contains(pseudonym: UnsafeRawBufferPointer, in fields: FieldSection) -> Bool {
        guard fields.contains(.via), !pseudonym.isEmpty else { return false }
        for line in fields.lines where line.name == .via {
            let found = fields.withValue(line) { value in
                contains(pseudonym, in: value, honouringComments: hasBalancedComments(value))
            }
            if found { return true }
        }
        return false
    }

    private static func contains(
        _ pseudonym: UnsafeRawBufferPointer, in value: UnsafeRawBufferPointer, honouringComments: Bool
    ) -> Bool {
        var start = 0
        var depth = 0
        var index = 0
        while index <= value.count {
            let byte = index < value.count ? value[index] : UInt8(ascii: ",")
            if honouringComments, byte == 0x5c, depth > 0 {
                index &+= 2
                continue
            }
            if honouringComments, byte == UInt8(ascii: "(") { depth &+= 1 }
            if honouringComments, byte == UInt8(ascii: ")"), depth > 0 { depth &-= 1 }
            if byte == UInt8(ascii: ","), depth == 0 {
                if receivedBy(UnsafeRawBufferPointer(rebasing: value[start..<index])).equalsIgnoringCase(pseudonym) {
                    return true
                }
                start = index &+ 1
            }
            index &+= 1
        }
        return false
    }

    /// The host or pseudonym of `received-protocol RWS received-by [ RWS comment ]`, without its port.
    private static func receivedBy(_ entry: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let entry = entry.trimmingOptionalWhitespace
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        guard let gap = entry.firstIndex(where: isSpace) else { return UnsafeRawBufferPointer(rebasing: entry[0..<0]) }
        let rest = UnsafeRawBufferPointer(rebasing: entry[gap...]).trimmingOptionalWhitespace
        let end = rest.firstIndex { isSpace($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "(") } ?? rest.count
        return UnsafeRawBufferPointer(rebasing: rest[0..<end])
    }

    private static func hasBalancedComments(_ value: UnsafeRawBufferPointer) -> Bool {
        var depth = 0
        var index = 0
        while index < value.count {
            switch value[index] {
            case UInt8(ascii: "("): depth &+= 1
            case UInt8(ascii: ")") where depth > 0: depth &-= 1
            case 0x5c where depth > 0: index &+= 1
            default: break
            }
            index &+= 1
        }
        return depth == 0
    }
}
