/// A media type: `type/subtype`, and perhaps parameters (RFC 9110 §8.3.1).
public struct MediaType: Sendable, Equatable {
    /// The whole value for a Content-Type field, type and subtype in lower case, parameters as given.
    public let bytes: [UInt8]
    /// The length of `type/subtype` in ``bytes``.
    public let essenceLength: Int

    /// `application/octet-stream`, for bytes that nothing is known of.
    public static let octetStream = MediaType(checked: "application/octet-stream")

    /// Parses a media type; nil where type or subtype is no token or what follows is not a list of parameters.
    public init?(_ text: UnsafeRawBufferPointer) {
        let item = ParameterisedItem(text.trimmingOptionalWhitespace)
        let essence = item.item
        guard let slash = essence.firstIndex(of: UInt8(ascii: "/")),
            UnsafeRawBufferPointer(rebasing: essence[0..<slash]).isToken,
            UnsafeRawBufferPointer(rebasing: essence[(slash &+ 1)...]).isToken
        else { return nil }
        var bytes = essence.map(\.asciiLowercased)
        for text in item.parameters {
            guard let parameter = FieldParameter(text), parameter.value != nil else { return nil }
            bytes.append("; ")
            bytes.append(contentsOf: text)
        }
        guard bytes.allSatisfy({ $0.isMember(of: .fieldValue) }) else { return nil }
        self.bytes = bytes
        essenceLength = essence.count
    }

    /// Parses a media type from text, as of a map.
    public init?(_ text: String) {
        var text = text
        let parsed = text.withUTF8 { MediaType(UnsafeRawBufferPointer($0)) }
        guard let parsed else { return nil }
        self = parsed
    }

    private init(checked essence: StaticString) {
        var bytes: [UInt8] = []
        bytes.append(essence)
        self.bytes = bytes
        essenceLength = bytes.count
    }

    private init(bytes: [UInt8], essenceLength: Int) {
        self.bytes = bytes
        self.essenceLength = essenceLength
    }

    /// `type/subtype` in lower case.
    public var essence: ArraySlice<UInt8> { bytes[..<essenceLength] }

    /// The whole value as text.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    /// The value of the first parameter of that name, unquoted; `name` is in lower case.
    public func parameter(_ name: StaticString) -> [UInt8]? {
        bytes.withUnsafeBytes { ParameterisedItem($0).parameter(name)?.unescapedValue }
    }

    /// Whether the type takes a `charset` parameter and is text to a reader.
    ///
    /// That is every `text/…`, the JavaScript and XML types of `application/…`, and every `…+xml`, SVG among them. JSON
    /// (RFC 8259 §11), YAML (RFC 9512), TOML and web manifests are text, but define no such parameter: they are UTF-8
    /// anyway.
    public var takesCharset: Bool {
        bytes.withUnsafeBytes { all in
            let essence = UnsafeRawBufferPointer(rebasing: all[..<essenceLength])
            return essence.starts(with: "text/".utf8) || essence.hasSuffix("+xml")
                || essence.equals("application/javascript") || essence.equals("application/x-javascript")
                || essence.equals("application/ecmascript") || essence.equals("application/xml")
                || essence.equals("application/xml-dtd")
        }
    }

    /// Whether the bytes are text: what ``takesCharset`` is, and JSON, YAML, TOML and playlists.
    public var isText: Bool {
        if takesCharset { return true }
        return bytes.withUnsafeBytes { all in
            let essence = UnsafeRawBufferPointer(rebasing: all[..<essenceLength])
            return essence.hasSuffix("+json") || essence.hasSuffix("/json") || essence.hasSuffix("+yaml")
                || essence.hasSuffix("/yaml") || essence.equals("application/toml")
                || essence.equals("application/vnd.apple.mpegurl") || essence.equals("application/json-seq")
        }
    }

    /// The type with `; charset=utf-8` where it ``takesCharset`` and has none, else as it is.
    public var withDefaultCharset: MediaType {
        guard takesCharset, parameter("charset") == nil else { return self }
        var bytes = bytes
        bytes.append("; charset=utf-8")
        return MediaType(bytes: bytes, essenceLength: essenceLength)
    }
}

extension UnsafeRawBufferPointer {
    func hasSuffix(_ literal: StaticString) -> Bool {
        count >= literal.utf8CodeUnitCount
            && UnsafeRawBufferPointer(rebasing: self[(count &- literal.utf8CodeUnitCount)...]).equals(literal)
    }
}
