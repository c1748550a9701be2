public import HTTP1
public import HTTPSemantics
import NIOCore

/// Why a header section of HTTP/2 is no request.
public enum HTTP2RequestError: Error, Equatable {
    /// An error of the stream (RFC 9113 §8.1.1).
    case malformed
    /// Answered with 431.
    case tooLarge
    /// Answered with 414.
    case targetTooLong
    /// CONNECT, which opens nothing inside of a tunnel.
    case connect
}

/// Turns a decompressed header section into the head that the rest works on, in the form of HTTP/1 (RFC 9113 §8.3.1).
public enum HTTP2RequestHead {
    /// The pseudo-header fields, each as where it stands in the block.
    private struct PseudoFields {
        var method: Range<Int>?
        var scheme: Range<Int>?
        var path: Range<Int>?
        var authority: Range<Int>?

        /// Takes one in; each may come once.
        mutating func set(_ name: UnsafeRawBufferPointer, _ value: Range<Int>) throws(HTTP2RequestError) {
            func assign(_ field: inout Range<Int>?) throws(HTTP2RequestError) {
                guard field == nil else { throw .malformed }
                field = value
            }
            if name.equals(":method") {
                try assign(&method)
            } else if name.equals(":path") {
                try assign(&path)
            } else if name.equals(":scheme") {
                try assign(&scheme)
            } else if name.equals(":authority") {
                try assign(&authority)
            } else {
                // `:protocol` too: extended CONNECT is not offered (RFC 8441 §3).
                throw .malformed
            }
        }
    }

    /// Makes the head of a request.
    ///
    /// - Parameter hasContent: whether the stream goes on behind the header section.
    /// - Throws: ``HTTP2RequestError``: `malformed` for what breaks a rule of RFC 9113 §8, `tooLarge` and
    ///   `targetTooLong` beyond the limits, `connect` for CONNECT.
    public static func make(
        _ block: FieldBlock, hasContent: Bool, maxTargetBytes: Int
    ) throws(HTTP2RequestError) -> RequestHead {
        guard !block.isTooLarge else { throw .tooLarge }
        return try block.bytes.withRawBytes { bytes throws(HTTP2RequestError) in
            try make(block.lines, bytes, hasContent, maxTargetBytes)
        }
    }

    private static func make(
        _ lines: [FieldBlock.Line], _ bytes: UnsafeRawBufferPointer, _ hasContent: Bool, _ maxTargetBytes: Int
    ) throws(HTTP2RequestError) -> RequestHead {
        func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[range]) }
        var pseudo = PseudoFields()
        var firstField = 0
        while firstField < lines.count, lines[firstField].nameLength > 0,
            bytes[lines[firstField].start] == UInt8(ascii: ":")
        {
            try pseudo.set(slice(lines[firstField].name), lines[firstField].value)
            firstField &+= 1
        }
        let method = slice(pseudo.method ?? 0..<0)
        guard isToken(method) else { throw .malformed }
        if method.equals("CONNECT") {
            guard pseudo.path == nil, pseudo.scheme == nil, pseudo.authority != nil else { throw .malformed }
            throw .connect
        }
        let path = slice(pseudo.path ?? 0..<0)
        guard let scheme = pseudo.scheme, slice(scheme).equalsIgnoringCase("https"), isPath(path, method) else {
            throw .malformed
        }
        guard path.count <= maxTargetBytes else { throw .targetTooLong }

        var head = ByteBuffer()
        head.reserveCapacity(bytes.count &+ lines.count &* 4 &+ 64)
        head.writeBytes(method)
        head.writeStaticString(" ")
        head.writeBytes(path)
        head.writeStaticString(" HTTP/1.1\r\n")
        var builder = Builder(head, lines.count)
        if let authority = pseudo.authority { try builder.append("host", slice(authority)) }
        for line in lines[firstField...] {
            try add(slice(line.name), slice(line.value), pseudo.authority.map(slice), to: &builder)
        }
        guard builder.section.contains(.host), builder.hasSoundLength(hasContent: hasContent) else { throw .malformed }
        try builder.joinCookies()
        if hasContent, !builder.section.contains(.contentLength) { builder.appendChunked() }
        let targetStart = method.count &+ 1
        return RequestHead(
            method: Method(method), version: .http2, methodRange: 0..<method.count,
            targetRange: targetStart..<targetStart &+ path.count, fields: builder.section)
    }

    private static func add(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ authority: UnsafeRawBufferPointer?,
        to builder: inout Builder
    ) throws(HTTP2RequestError) {
        switch FieldName(name) {
        case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade, .http2Settings: throw .malformed
        case .te: guard value.equalsIgnoringCase("trailers") else { throw .malformed }
        // RFC 9113 §8.3.1: they must not differ.
        case .host:
            guard builder.section.count(of: .host) == 0 else {
                guard let authority, authority.elementsEqual(value) else { throw .malformed }
                return
            }
        // RFC 9113 §8.2.3: they are joined again for what is not HTTP/2.
        case .cookie: return try builder.addCookie(name, value)
        default: break
        }
        try builder.append(name, value)
    }

    /// The fields of a trailer section: no pseudo-header fields, and no more than HTTP/1 may have.
    ///
    /// - Throws: ``HTTP2RequestError``: `malformed` for what no trailer section may have, `tooLarge` beyond the limits.
    public static func trailers(_ block: FieldBlock, limits: MessageLimits) throws(HTTP2RequestError) -> FieldSection {
        guard !block.isTooLarge, block.lines.count <= limits.trailerFieldCount,
            block.writtenSize <= limits.trailerSectionBytes
        else { throw .tooLarge }
        return try block.bytes.withRawBytes { bytes throws(HTTP2RequestError) in
            var builder = Builder(ByteBuffer(), block.lines.count)
            for line in block.lines {
                let name = UnsafeRawBufferPointer(rebasing: bytes[line.name])
                switch FieldName(name) {
                case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade: throw .malformed
                default: try builder.append(name, UnsafeRawBufferPointer(rebasing: bytes[line.value]))
                }
            }
            return builder.section
        }
    }

    private static func isToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { $0.isMember(of: .token) }
    }

    /// Whether the path is in origin-form, or `*` for OPTIONS.
    private static func isPath(_ bytes: UnsafeRawBufferPointer, _ method: UnsafeRawBufferPointer) -> Bool {
        if bytes.equals("*") { return method.equals("OPTIONS") }
        return bytes.first == UInt8(ascii: "/") && bytes.allSatisfy { $0 > 0x20 && $0 != 0x7f && $0 != 0x23 }
    }
}

extension HTTP2RequestHead {
    /// Builds a section line by line, each checked (RFC 9113 §8.2.1).
    fileprivate struct Builder {
        private var bytes: ByteBuffer
        private var lines: ContiguousArray<FieldSection.Line> = []
        private var present = FieldNameSet()
        private var cookies: [UInt8]?

        init(_ bytes: ByteBuffer, _ count: Int) {
            self.bytes = bytes
            lines.reserveCapacity(count &+ 1)
        }

        var section: FieldSection { FieldSection(bytes: bytes, lines: lines, present: present) }

        mutating func append(_ name: StaticString, _ value: UnsafeRawBufferPointer) throws(HTTP2RequestError) {
            let name = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
            try append(name, value)
        }

        mutating func append(
            _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
        ) throws(HTTP2RequestError) {
            try Builder.check(name, value)
            let nameStart = bytes.writerIndex
            bytes.writeBytes(name)
            bytes.writeStaticString(": ")
            let valueStart = bytes.writerIndex
            bytes.writeBytes(value)
            bytes.writeStaticString("\r\n")
            let recognised = FieldName(name)
            lines.append(
                FieldSection.Line(
                    nameStart: nameStart, nameLength: name.count, valueStart: valueStart, valueLength: value.count,
                    name: recognised))
            present.insert(recognised)
        }

        mutating func addCookie(
            _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
        ) throws(HTTP2RequestError) {
            try Builder.check(name, value)
            // An empty crumb adds no cookie, and would leave a delimiter behind.
            if cookies?.isEmpty ?? true {
                cookies = Array(value)
            } else if !value.isEmpty {
                cookies?.append(contentsOf: [0x3b, 0x20] + value)
            }
        }

        mutating func joinCookies() throws(HTTP2RequestError) {
            guard let cookies else { return }
            self.cookies = nil
            try cookies.withRawBytes { value throws(HTTP2RequestError) in try append("cookie", value) }
        }

        mutating func appendChunked() {
            let chunked: StaticString = "chunked"
            try? append("transfer-encoding", UnsafeRawBufferPointer(start: chunked.utf8Start, count: 7))
        }

        /// Whether Content-Length is one number, and 0 where nothing follows.
        func hasSoundLength(hasContent: Bool) -> Bool {
            guard present.contains(.contentLength) else { return true }
            let section = section
            guard section.count(of: .contentLength) == 1,
                let length = section.withFirst(.contentLength, { $0.decimalValue }) ?? nil
            else { return false }
            return hasContent || length == 0
        }

        private static func check(
            _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
        ) throws(HTTP2RequestError) {
            let isName = name.allSatisfy { $0.isMember(of: .token) && !(0x41...0x5a ~= $0) }
            guard isName, !name.isEmpty else { throw .malformed }
            // A section keeps lengths of names in 16 bits, and the name of what is left of a longer one would be
            // another's.
            guard name.count <= UInt16.max else { throw .tooLarge }
            guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else { throw .malformed }
            guard value.first != 0x20, value.first != 0x09, value.last != 0x20, value.last != 0x09 else {
                throw .malformed
            }
        }
    }
}
