import HTTPSemantics

/// Whether a request loads a document, in the top frame or in another one.
enum Navigation {
    /// The fields that say so.
    static let fieldNames = ["Sec-Fetch-Mode", "Upgrade-Insecure-Requests"]
    private static let prefix = Array("sec-fetch-".utf8)
    private static let mode = Array("sec-fetch-mode".utf8)
    private static let upgrade = Array("upgrade-insecure-requests".utf8)

    /// What Fetch Metadata says (`Sec-Fetch-Mode: navigate`). Where a request has no field of it, as browsers send none
    /// to http hosts beyond loopback, `Upgrade-Insecure-Requests: 1` says so, which they send with documents alone
    /// (Fetch Metadata §2.2; Upgrade Insecure Requests §3.2.1).
    static func isOne(_ fields: FieldSection) -> Bool {
        var modes = 0
        var isNavigating = false
        var hasMetadata = false
        var wantsUpgrade = false
        for line in fields.lines {
            fields.withName(line) { name in
                if begins(name, with: prefix) {
                    hasMetadata = true
                    guard URLText.equalIgnoringCase(name, mode) else { return }
                    modes &+= 1
                    isNavigating = holds(fields, line, "navigate")
                } else if URLText.equalIgnoringCase(name, upgrade) {
                    wantsUpgrade = wantsUpgrade || holds(fields, line, "1")
                }
            }
        }
        // A browser sends one line; what has two was put together by something else.
        return hasMetadata ? modes == 1 && isNavigating : wantsUpgrade
    }

    private static func begins(_ name: UnsafeRawBufferPointer, with prefix: [UInt8]) -> Bool {
        name.count > prefix.count && zip(name, prefix).allSatisfy { $0.asciiLowercased == $1 }
    }

    private static func holds(_ fields: FieldSection, _ line: FieldSection.Line, _ value: StaticString) -> Bool {
        fields.withValue(line) { bytes in
            value.withUTF8Buffer { bytes.trimmingOptionalWhitespace.elementsEqual($0) }
        }
    }
}
