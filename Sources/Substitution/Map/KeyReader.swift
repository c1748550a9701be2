import HTTPSemantics
import NIOCore
import Patterns
import YAML

/// Why a key is no URL, pattern or expression, and which bytes of it are at fault; nil for all of them.
struct KeyError: Error {
    var message: String
    var range: Range<Int>?

    init(_ message: String, at range: Range<Int>? = nil) {
        self.message = message
        self.range = range
    }
}

/// A key of `substitutions`, read: its normalised text in the arena, and what it is compiled to.
struct RuleKey {
    var kind: RuleKind
    var text: Range<Int>
    /// The text for https, where the key began with `//`.
    var secondText: Range<Int>?
    /// The pattern, and that for https.
    var pattern: URLPattern?
    var secondPattern: URLPattern?
    /// What a pattern's own query asks for; nil for a star alone.
    var parameters: [ParameterCondition?] = []
    var expression: LinearExpression?
    /// Whether it was written without a path, as `http://host`.
    var isBareAuthority = false
    var hasFragment = false
    var hasUserInformation = false

    /// How many captures there are, `$1` the first.
    var captureCount: Int {
        if let expression { return expression.groupCount }
        return parameters.reduce(pattern?.groupCount ?? 0) { $0 + ($1?.value.starCount ?? 1) }
    }
    var captureNames: [String: Int] { expression?.groupNames ?? [:] }

    /// Whether there is a capture of a number or a name.
    func has(capture: String) -> Bool {
        if captureNames[capture] != nil { return true }
        guard let number = Int(capture), String(number) == capture else { return false }
        return number >= 1 && number <= captureCount
    }

    init(_ kind: RuleKind, _ text: Range<Int>) {
        self.kind = kind
        self.text = text
    }
}

/// Reads the keys of `substitutions`: URLs, folders, patterns and regular expressions.
///
/// `http://host` without a path is the exact URL of the root page, `http://host/` a folder with everything on the host.
struct KeyReader {
    /// Used again for each key, so that a key costs no allocation.
    private var buffer = ByteBuffer()

    /// Reads a key and appends its normalised text to `arena`.
    mutating func read(_ key: UnsafeBufferPointer<UInt8>, arena: inout [UInt8]) throws(KeyError) -> RuleKey {
        let bytes = UnsafeRawBufferPointer(key)
        guard let first = bytes.first else { throw KeyError("a key is a URL; this one is empty") }
        if first == UInt8(ascii: "~") {
            // An empty expression would match every URL, and YAML writes null so.
            guard bytes.count > 1 else {
                throw KeyError("there is no regular expression behind this '~'; '~.' matches every URL")
            }
            return try expression(bytes, &arena)
        }
        guard let marks = Marks(bytes) else {
            throw KeyError(
                "this is no URL: a key begins with a scheme, as in http://host/path, or with // for both http and https"
            )
        }
        if bytes[marks.authority].contains(where: { $0 >= 0x80 }) {
            throw KeyError(
                "a host is written in ASCII; an international name in its form with 'xn--'",
                at: marks.authority)
        }
        try KeyReader.check(bytes, marks)
        guard marks.hasStar else { return try url(bytes, marks, &arena) }
        return try pattern(bytes, marks, &arena)
    }

    /// Refuses what requests may have, since clients send it, but no URL has.
    private static func check(_ bytes: UnsafeRawBufferPointer, _ marks: Marks) throws(KeyError) {
        if let percent = marks.badPercent {
            throw KeyError(
                "two hexadecimal digits follow '%' in a URL; write '%25' for a percent sign",
                at: percent..<min(percent + 3, bytes.count))
        }
        let authority = bytes[marks.authority]
        var index = authority.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? authority.startIndex
        var before = UInt8(ascii: ".")
        while index < authority.endIndex, bytes[index] != UInt8(ascii: ":") {
            if bytes[index] == UInt8(ascii: "."), before == UInt8(ascii: ".") {
                throw KeyError("a host has no empty label: a dot has a name before it", at: index..<index + 1)
            }
            before = bytes[index]
            index += 1
        }
    }

    // MARK: Exact URLs and folders

    private mutating func url(
        _ bytes: UnsafeRawBufferPointer, _ marks: Marks, _ arena: inout [UInt8]
    ) throws(KeyError) -> RuleKey {
        let text: Range<Int>
        var second: Range<Int>?
        if marks.hasScheme {
            text = try append(bytes, scheme: nil, &arena)
        } else {
            text = try append(bytes, scheme: "http:", &arena)
            second = try append(bytes, scheme: "https:", &arena)
        }
        // Only a path ends a key in "/" then: a query is behind its "?".
        let isBare = marks.pathStart == nil
        let isFolder = !isBare && arena[text.upperBound - 1] == UInt8(ascii: "/") && !arena[text].contains(0x3f)
        var key = RuleKey(isFolder ? .folder : .exact, text)
        key.secondText = second
        key.isBareAuthority = isBare && !marks.hasQuery
        key.hasFragment = marks.hasFragment
        key.hasUserInformation = marks.hasUserInformation
        return key
    }

    /// Appends the normalised URL.
    private mutating func append(
        _ bytes: UnsafeRawBufferPointer, scheme: StaticString?, _ arena: inout [UInt8]
    ) throws(KeyError) -> Range<Int> {
        buffer.clear()
        if let scheme { buffer.writeStaticString(scheme) }
        buffer.writeBytes(bytes)
        let start = arena.count
        let uri = try uri()
        uri.withBytes { arena.append(contentsOf: $0) }
        return start..<arena.count
    }

    private func uri() throws(KeyError) -> TargetURI {
        do throws(TargetError) {
            return try TargetURI(absolute: buffer)
        } catch {
            throw KeyError(error.description)
        }
    }

    // MARK: Patterns

    private mutating func pattern(
        _ bytes: UnsafeRawBufferPointer, _ marks: Marks, _ arena: inout [UInt8]
    ) throws(KeyError) -> RuleKey {
        guard marks.hasScheme else {
            let http = try pattern(bytes, marks, scheme: "http:", &arena)
            let https = try pattern(bytes, marks, scheme: "https:", &arena)
            var key = http
            key.secondText = https.text
            key.secondPattern = https.pattern
            return key
        }
        return try pattern(bytes, marks, scheme: "", &arena)
    }

    private mutating func pattern(
        _ bytes: UnsafeRawBufferPointer, _ marks: Marks, scheme: StaticString, _ arena: inout [UInt8]
    ) throws(KeyError) -> RuleKey {
        let normal = try normalised(bytes, marks, scheme)
        let compiled: URLPattern
        do throws(PatternError) {
            compiled = try URLPattern(normal.path)
        } catch {
            // The places agree where normalisation changed nothing before the error.
            let written = Array(bytes.prefix(error.range.upperBound))
            let agrees = normal.path.prefix(error.range.upperBound).elementsEqual(written)
            throw KeyError(error.message, at: agrees ? error.range : nil)
        }
        let start = arena.count
        arena += normal.path
        if !normal.query.isEmpty {
            arena.append(0x3f)
            arena += normal.query
        }
        var key = RuleKey(.pattern, start..<arena.count)
        key.pattern = compiled
        key.parameters = try KeyReader.parameters(normal.query)
        guard key.captureCount <= URLPattern.maximumStars else {
            throw KeyError("a pattern has \(URLPattern.maximumStars) stars at most")
        }
        key.hasFragment = marks.hasFragment
        key.hasUserInformation = marks.hasUserInformation
        return key
    }

    /// The pattern normalised like a URL: its stars in the host give way to letters meanwhile, one in the port to none.
    /// The letter is one that no number has, so that no address comes about, which would be written in another form.
    private mutating func normalised(
        _ bytes: UnsafeRawBufferPointer, _ marks: Marks, _ scheme: StaticString
    ) throws(KeyError) -> (path: [UInt8], query: [UInt8]) {
        var host = marks.authority
        if let at = bytes[host].lastIndex(of: UInt8(ascii: "@")) { host = (at + 1)..<host.upperBound }
        let end = host.upperBound
        var port: [UInt8] = []
        var address = host.lowerBound..<host.lowerBound
        if bytes[host].first == UInt8(ascii: "[") {
            let close = bytes[host].firstIndex(of: UInt8(ascii: "]"))
            address = host.lowerBound..<(close.map { $0 + 1 } ?? end)
            if bytes[address].contains(UInt8(ascii: "*")) {
                throw KeyError("a star can't stand in an IPv6 address; write '*' for the whole host", at: address)
            }
        }
        if let colon = bytes[address.upperBound..<end].firstIndex(of: UInt8(ascii: ":")),
            bytes[colon..<end].contains(UInt8(ascii: "*"))
        {
            port = Array(bytes[colon..<end])
            guard port.dropFirst().allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: "*") }) else {
                throw KeyError("the URL's port is not a number from 1 to 65535", at: colon + 1..<end)
            }
            host = host.lowerBound..<colon
        }
        buffer.clear()
        buffer.writeStaticString(scheme)
        buffer.writeBytes(bytes[..<host.lowerBound])
        buffer.writeBytes(bytes[host].map { $0 == UInt8(ascii: "*") ? UInt8(ascii: "z") : $0 })
        buffer.writeBytes(bytes[end...])
        let uri = try uri()
        var text = uri.withBytes { Array($0) }
        for (offset, byte) in bytes[host].enumerated() where byte == UInt8(ascii: "*") {
            guard offset < uri.hostRange.count else {
                throw KeyError("the URL's host is not in a form that can have a star")
            }
            text[uri.hostRange.lowerBound + offset] = byte
        }
        let query = uri.hasQuery ? Array(text[(uri.pathEnd + 1)...]) : []
        text.removeSubrange(uri.pathEnd...)
        text.insert(contentsOf: port, at: uri.hostRange.upperBound)
        return (text, query)
    }

    /// What the query of a pattern asks for; nil for a star alone, which asks for nothing.
    private static func parameters(_ query: [UInt8]) throws(KeyError) -> [ParameterCondition?] {
        var conditions: [ParameterCondition?] = []
        for parameter in query.split(separator: UInt8(ascii: "&")) {
            guard !parameter.elementsEqual("*".utf8) else {
                conditions.append(nil)
                continue
            }
            let name = parameter.prefix { $0 != UInt8(ascii: "=") }
            guard !name.contains(UInt8(ascii: "*")) else {
                throw KeyError("a star can't stand in the name of a parameter")
            }
            // Two stars are one here as they are in a path: one capture.
            var value: [UInt8] = []
            for byte in parameter.dropFirst(name.count + 1) where byte != 0x2a || value.last != 0x2a {
                value.append(byte)
            }
            conditions.append(ParameterCondition(name: name, value: value))
        }
        return conditions
    }

    // MARK: Regular expressions

    private func expression(
        _ bytes: UnsafeRawBufferPointer, _ arena: inout [UInt8]
    ) throws(KeyError) -> RuleKey {
        do throws(PatternError) {
            let compiled = try LinearExpression(Array(bytes.dropFirst()))
            let start = arena.count
            arena.append(contentsOf: bytes)
            var key = RuleKey(.expression, start..<arena.count)
            key.expression = compiled
            return key
        } catch {
            throw KeyError(error.message, at: (error.range.lowerBound + 1)..<(error.range.upperBound + 1))
        }
    }
}

/// What a look at a key's bytes tells before it is parsed.
private struct Marks {
    var hasScheme: Bool
    var hasStar = false
    var hasQuery = false
    var hasFragment = false
    var hasUserInformation = false
    /// The first `%` without two hexadecimal digits behind it.
    var badPercent: Int?
    var authority: Range<Int>
    /// Where the path begins; nil where there is none.
    var pathStart: Int?

    /// Nil for what has no `//` where a URL has it.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var index = 0
        while index < bytes.count, bytes[index] != UInt8(ascii: ":"), bytes[index] != UInt8(ascii: "/") { index += 1 }
        hasScheme = index < bytes.count && bytes[index] == UInt8(ascii: ":")
        if hasScheme { index += 1 } else if index > 0 { return nil }
        guard index + 1 < bytes.count, bytes[index] == 0x2f, bytes[index + 1] == 0x2f else { return nil }
        let start = index + 2
        authority = start..<start
        // A star before the scheme's end is for the parser of patterns to refuse.
        hasStar = bytes[..<start].contains(UInt8(ascii: "*"))
        index = start
        var end: Int?
        scan: while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "*"): hasStar = true
            case UInt8(ascii: "@") where end == nil: hasUserInformation = true
            case UInt8(ascii: "/") where end == nil:
                end = index
                pathStart = index
            case UInt8(ascii: "?"):
                end = end ?? index
                hasQuery = true
            case UInt8(ascii: "%") where badPercent == nil:
                if PercentDecoding.byte(bytes, at: index) == nil { badPercent = index }
            case UInt8(ascii: "#"):
                hasFragment = true
                break scan
            default: break
            }
            index += 1
        }
        authority = start..<(end ?? index)
    }
}
