import Basics
import HTTPSemantics

/// Hosts and host patterns as `intercept` has them.
enum HostPatternText {
    /// The text in lower case and without the root's dot, an address in one form, or nil for what is no host: labels of
    /// letters, digits, `-`, `_` and `*` with dots between them, or an IPv6 address in brackets.
    static func normalised(_ text: some Collection<UInt8>) -> String? {
        var lowercased = text.map { URLText.lowercased($0) }
        if lowercased.last == UInt8(ascii: ".") { lowercased.removeLast() }
        guard let first = lowercased.first, lowercased.count <= 255, lowercased.last != UInt8(ascii: ".") else {
            return nil
        }
        if first == UInt8(ascii: "[") {
            guard lowercased.last == UInt8(ascii: "]"), lowercased.count > 2,
                lowercased.dropFirst().dropLast().allSatisfy({ $0 == 0x3a || $0 == 0x2e || $0.hexValue != nil })
            else { return nil }
        } else {
            let isHost = lowercased.allSatisfy { byte in
                byte &- 0x61 < 26 || byte &- 0x30 < 10 || "-._*".utf8.contains(byte)
            }
            let labels = lowercased.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            guard isHost, !labels.contains(where: \.isEmpty) else { return nil }
        }
        // One with stars is compared as it is written.
        let hasStar = lowercased.contains(UInt8(ascii: "*"))
        return String(
            decoding: hasStar ? lowercased : lowercased.withUnsafeBytes { IPAddressText.normalHost($0) }, as: UTF8.self)
    }
}

/// A host as `intercept` and options have it, with stars.
public struct HostPattern: Sendable {
    /// In lower case, without the root's dot.
    public let text: String
    private let wildcard: WildcardText

    /// Nil for what is no host.
    public init?(_ text: some Collection<UInt8>) {
        guard let text = HostPatternText.normalised(text) else { return nil }
        self.init(text)
    }

    /// A pattern that was read before.
    public init(_ text: String) {
        self.text = text
        wildcard = WildcardText(text.utf8)
    }

    /// Whether a host is one of those meant; the case of letters and a trailing dot don't count.
    public func matches(_ host: String) -> Bool {
        var bytes = host.utf8.map { URLText.lowercased($0) }
        if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        return bytes.withUnsafeBytes { wildcard.matches($0) }
    }
}
