import Diagnostics
import HTTPSemantics
import NIOCore
import Substitution

/// Why an option's value can't be used; printed behind the value.
struct OptionValueError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

/// Reads numbers that consist of digits and nothing else.
enum DecimalNumber {
    /// The number, or nil: no sign, no space, no more than nine digits.
    static func parse(_ digits: some Collection<UInt8>) -> Int? {
        guard !digits.isEmpty, digits.count < 10 else { return nil }
        var value = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            value = value &* 10 &+ Int(digit &- 0x30)
        }
        return value
    }
}

/// Reads the values of options.
enum OptionValue {
    /// A whole number within bounds.
    static func count(_ range: ClosedRange<Int>) -> @Sendable (String) throws -> Int {
        { text in
            guard let value = DecimalNumber.parse(text.utf8), range.contains(value) else {
                throw OptionValueError("must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return value
        }
    }

    /// A size with its unit, within bounds.
    static func size(_ range: ClosedRange<Int>) -> @Sendable (String) throws -> Int {
        { text in
            let value = try Quantity.size(text.utf8)
            guard range.contains(value) else {
                throw OptionValueError("must be from \(sizeText(range.lowerBound)) to \(sizeText(range.upperBound))")
            }
            return value
        }
    }

    /// A duration with its unit, of a millisecond to a year; 0 only where `allowsZero`.
    static func duration(allowsZero: Bool = false) -> @Sendable (String) throws -> TimeAmount {
        { text in
            let value = TimeAmount.nanoseconds(try Quantity.duration(text.utf8))
            guard value <= .hours(24 * 365), value >= .milliseconds(1) || (allowsZero && value == .zero) else {
                throw OptionValueError("must be from \(allowsZero ? "0" : "1ms") to 365d")
            }
            return value
        }
    }

    /// One of a few words.
    static func choice<Choice: RawRepresentable<String> & CaseIterable>(_ text: String) throws -> Choice {
        if let choice = Choice(rawValue: text) { return choice }
        let words = Choice.allCases.map(\.rawValue)
        let list = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        let near = didYouMean(text, among: words).map { "; did you mean '\($0)'?" } ?? ""
        throw OptionValueError("must be \(list)\(near)")
    }

    /// A list of ports: `443,8443`; an empty text is an empty list.
    static func ports(_ text: String) throws -> Set<UInt16> {
        var ports: Set<UInt16> = []
        guard !text.isEmpty else { return ports }
        for part in text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            guard let port = DecimalNumber.parse(part).flatMap(UInt16.init(exactly:)), port > 0 else {
                throw OptionValueError("must be ports from 1 to 65535 with commas between, as in 443,8443")
            }
            ports.insert(port)
        }
        return ports
    }

    /// A list of hosts, with stars, in lower case; `all` is every host.
    static func hosts(_ text: String) throws -> [String] {
        if text == "all" { return ["*"] }
        return try text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { part in
            guard let host = HostPattern(part) else {
                throw OptionValueError("must be hosts with commas between, as in api.example.com,*.cdn.example, or all")
            }
            return host.text
        }
    }

    /// A list of names of what is taken out. Blanks around them don't count.
    static func redactedNames(_ text: String) throws -> [String] {
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            var name = part
            while name.first == " " || name.first == "\t" { name.removeFirst() }
            while name.last == " " || name.last == "\t" { name.removeLast() }
            return String(name)
        }
        guard names.allSatisfy({ !$0.isEmpty }) else {
            throw OptionValueError("must be names with commas between, as in x-session,csrf")
        }
        return names
    }

    /// A list of field names, in lower case.
    static func fieldNames(_ text: String) throws -> [[UInt8]] {
        try text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { part in
            let name = part.map(\.asciiLowercased)
            guard !name.isEmpty, name.allSatisfy({ $0.isMember(of: .token) }) else {
                throw OptionValueError("must be field names with commas between, as in CDN-Cache-Control")
            }
            return name
        }
    }

    /// The hosts of `--no-proxy`, each address in the form that requested ones have.
    static func noProxy(_ text: String) -> String {
        text.utf8.split(whereSeparator: { $0 == UInt8(ascii: ",") || $0 == 0x20 }).map { entry in
            let isBare = entry.contains(UInt8(ascii: ":")) && entry.first != UInt8(ascii: "[")
            let host = isBare ? [UInt8(ascii: "[")] + entry + [UInt8(ascii: "]")] : Array(entry)
            // A number alone may be the end of a name.
            guard host.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") }) else {
                return String(decoding: entry, as: UTF8.self)
            }
            return String(decoding: host.withUnsafeBytes { IPAddressText.normalHost($0) }, as: UTF8.self)
        }.joined(separator: ",")
    }

    /// `HOST:PORT:ADDRESS`, where ADDRESS is one or more IP addresses with commas between; an IPv6 one may have
    /// brackets. The root's dot behind HOST is dropped, as it is from requested hosts.
    static func resolveEntry(_ text: String) throws -> String {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        let wrong = OptionValueError("must be HOST:PORT:ADDRESS, as in www.example.com:80:127.0.0.1")
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy({ $0 > 0x20 && $0 != 0x7f }),
            let port = DecimalNumber.parse(parts[1]), (1...65_535).contains(port)
        else { throw wrong }
        let addresses = parts[2].split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard addresses.allSatisfy({ isAddress(Array($0)) }) else { throw wrong }
        let host = AuthorityText.comparable(parts[0])
        guard host.last != UInt8(ascii: ".") else { throw wrong }
        return String(decoding: host + text.utf8.dropFirst(parts[0].count), as: UTF8.self)
    }

    /// Whether it is an IP address; an IPv6 one may have brackets.
    private static func isAddress(_ text: [UInt8]) -> Bool {
        let hasBrackets = text.first == UInt8(ascii: "[") && text.last == UInt8(ascii: "]") && text.count > 2
        let address = hasBrackets ? Array(text.dropFirst().dropLast()) : text
        return address.withUnsafeBytes { bytes in
            IPAddressText.isIPv6(bytes) || (!hasBrackets && IPAddressText.isIPv4(bytes))
        }
    }

    /// The URL of a parent proxy, with its port.
    static func parentProxy(_ text: String) throws -> String {
        let schemes = ["http://", "socks5://", "socks5h://"]
        let wrong = OptionValueError(
            "must be http://HOST:PORT, socks5://HOST:PORT or socks5h://HOST:PORT")
        guard let scheme = schemes.first(where: { text.lowercased().hasPrefix($0) }) else { throw wrong }
        var authority = Array(text.utf8.dropFirst(scheme.utf8.count))
        if authority.last == UInt8(ascii: "/") { authority.removeLast() }
        guard authority.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") }),
            let colon = authority.lastIndex(of: UInt8(ascii: ":")),
            let port = DecimalNumber.parse(authority[(colon &+ 1)...]), (1...65_535).contains(port)
        else { throw wrong }
        let userEnd = authority[..<colon].lastIndex(of: UInt8(ascii: "@")).map { $0 &+ 1 } ?? 0
        guard userEnd < colon else { throw wrong }
        return text
    }

    /// A size as it would be written on the command line.
    static func sizeText(_ bytes: Int) -> String {
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")]
        where bytes > 0 && bytes & ((1 << shift) &- 1) == 0 {
            return "\(bytes >> shift)\(unit)"
        }
        return "\(bytes)B"
    }

    /// A duration as it would be written on the command line.
    static func durationText(_ amount: TimeAmount) -> String {
        let units: [(Int64, String)] = [
            (86_400_000_000_000, "d"), (3_600_000_000_000, "h"), (1_000_000_000, "s"), (1_000_000, "ms"),
        ]
        for (factor, unit) in units
        where amount.nanoseconds > 0 && amount.nanoseconds % factor == 0 {
            return "\(amount.nanoseconds / factor)\(unit)"
        }
        return "\(amount.nanoseconds)ns"
    }
}
