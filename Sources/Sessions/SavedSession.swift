/// A browser's back and forward list: pages in their order, and the one that is shown.
public struct SavedSession: Sendable, Equatable {
    public struct Entry: Sendable, Equatable {
        /// An http or https URL in printable ASCII, with its query and fragment.
        public var url: String
        /// The page's title; may be empty.
        public var title: String

        public init(url: SessionURL, title: String) {
            self.url = url.text
            self.title = SavedSession.shortened(title)
        }
    }

    /// When it was saved: a time of RFC 3339 in UTC; nil where nobody has said.
    public var saved: String?
    /// The entry that is shown, from 0; one of ``entries``.
    public let current: Int
    /// From 1 to ``mostEntries``.
    public let entries: [Entry]

    /// As many entries as browsers keep.
    public static let mostEntries = 50
    /// Bytes of a title; of a longer one the beginning is kept.
    static let longestTitle = 1024

    /// - Returns: nil where there is no entry, where there are too many, and where `current` is none of them.
    public init?(saved: String?, current: Int, entries: [Entry]) {
        guard entries.indices.contains(current), entries.count <= SavedSession.mostEntries else { return nil }
        self.saved = saved
        self.current = current
        self.entries = entries
    }

    private static func shortened(_ title: String) -> String {
        guard title.utf8.count > longestTitle else { return title }
        var text = ""
        var count = 0
        for scalar in title.unicodeScalars {
            count += UTF8.width(scalar)
            guard count <= longestTitle - 3 else { break }
            text.unicodeScalars.append(scalar)
        }
        return text + "…"
    }
}

/// The name of a saved session: `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`.
public struct SessionName: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let text: String

    /// - Returns: nil for a text that is no name.
    public init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard let first = bytes.first, bytes.count <= 64, SessionName.isAlphanumeric(first),
            bytes.allSatisfy({ SessionName.isAlphanumeric($0) || [0x2E, 0x5F, 0x2D].contains($0) })
        else { return nil }
        self.text = String(text)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }

    public static func < (one: SessionName, other: SessionName) -> Bool {
        one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
    }

    public var description: String { text }
}
