/// Media types by file extension: this table's own, and those of a `mime.types` file for extensions it doesn't have.
public struct ExtensionTable: Sendable {
    private var types: [Key: MediaType]

    /// The types of today's web, as registered with IANA where they are; made when first used.
    public static let builtIn = ExtensionTable(types: [:]).adding(mimeTypes: builtInText.bytes)

    private init(types: [Key: MediaType]) { self.types = types }

    /// How many extensions have a type.
    public var count: Int { types.count }

    /// This table with the extensions of `text` that it doesn't have yet, the first mention of each.
    ///
    /// The format is that of `/etc/mime.types`: a type and its extensions a line, `#` begins a comment. Lines whose
    /// type is none are passed over.
    public func adding(mimeTypes text: UnsafeRawBufferPointer) -> ExtensionTable {
        var table = self
        for line in text.split(separator: 0x0a) {
            let words = line.prefix { $0 != UInt8(ascii: "#") }.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }
            guard words.count > 1, let type = MediaType(UnsafeRawBufferPointer(rebasing: words[0])) else { continue }
            for word in words.dropFirst() {
                guard let key = Key(word), table.types[key] == nil else { continue }
                table.types[key] = type
            }
        }
        return table
    }

    /// The same, for text in an array.
    public func adding(mimeTypes text: [UInt8]) -> ExtensionTable { text.withUnsafeBytes { adding(mimeTypes: $0) } }

    /// The type of an extension without its dot, ASCII case ignored; nil where the table has none.
    public func type(forExtension name: some Collection<UInt8>) -> MediaType? { Key(name).flatMap { types[$0] } }

    /// The type of a file by what follows the last dot of its name; `application/octet-stream` where that is unknown.
    public func type(forPath path: [UInt8]) -> MediaType {
        let mark = path.lastIndex { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "/") }
        guard let mark, path[mark] == UInt8(ascii: ".") else { return .octetStream }
        return type(forExtension: path[(mark + 1)...]) ?? .octetStream
    }

    /// An extension of up to 16 bytes in lower case, packed; no longer one is in use.
    private struct Key: Hashable, Sendable {
        private var high: UInt64 = 0
        private var low: UInt64 = 0

        init?(_ name: some Collection<UInt8>) {
            guard (1...16).contains(name.count) else { return nil }
            for byte in name {
                guard byte != 0 else { return nil }
                high = high << 8 | low >> 56
                low = low << 8 | UInt64(byte.asciiLowercased)
            }
        }
    }
}

extension StaticString {
    fileprivate var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}

/// In the format of `/etc/mime.types`. JavaScript is `text/javascript` (RFC 9239); `.ts` is an MPEG stream, not
/// TypeScript, because players ask proxies for it.
private let builtInText: StaticString = """
    text/html html htm shtml
    application/xhtml+xml xhtml xht
    text/css css
    text/javascript js mjs cjs
    application/json json json5 jsonc map har topojson
    application/ld+json jsonld
    application/geo+json geojson
    application/manifest+json webmanifest
    application/wasm wasm
    application/xml xml xsl xsd rng
    application/xslt+xml xslt
    application/xml-dtd dtd
    application/rss+xml rss
    application/atom+xml atom
    application/yaml yaml yml
    application/toml toml
    text/plain txt text log conf ini asc diff patch
    text/csv csv
    text/tab-separated-values tsv
    text/markdown md markdown
    text/calendar ics ifb
    text/vcard vcf vcard
    text/cache-manifest appcache manifest
    text/vtt vtt
    application/x-subrip srt
    application/sql sql
    application/rtf rtf
    image/svg+xml svg svgz
    image/png png
    image/apng apng
    image/jpeg jpeg jpg jpe jfif
    image/gif gif
    image/webp webp
    image/avif avif avifs
    image/heic heic
    image/heif heif hif
    image/jxl jxl
    image/jp2 jp2
    image/vnd.microsoft.icon ico cur
    image/bmp bmp
    image/tiff tiff tif
    image/vnd.adobe.photoshop psd
    image/x-icns icns
    video/mp4 mp4 m4v mp4v m4s
    video/webm webm
    video/quicktime mov qt
    video/matroska mkv
    video/x-msvideo avi
    video/mpeg mpeg mpg
    video/mp2t ts m2ts mts
    video/3gpp 3gp
    video/ogg ogv
    audio/mpeg mp3
    audio/mp4 m4a m4b
    audio/aac aac
    audio/ogg ogg oga opus spx
    audio/wav wav wave
    audio/flac flac
    audio/aiff aif aiff
    audio/midi mid midi
    audio/matroska mka
    audio/webm weba
    application/ogg ogx
    application/vnd.apple.mpegurl m3u8 m3u
    application/dash+xml mpd
    application/ttml+xml ttml
    font/woff woff
    font/woff2 woff2
    font/ttf ttf
    font/otf otf
    font/collection ttc
    application/vnd.ms-fontobject eot
    application/pdf pdf
    application/postscript ps eps ai
    application/zip zip
    application/gzip gz tgz
    application/x-brotli br
    application/zstd zst
    application/x-bzip2 bz2
    application/x-xz xz
    application/x-tar tar
    application/x-7z-compressed 7z
    application/vnd.rar rar
    application/java-archive jar war
    application/vnd.android.package-archive apk
    application/octet-stream bin ipa dmg iso img exe dll so pkg dat
    application/vnd.debian.binary-package deb
    application/x-rpm rpm
    application/x-sh sh
    application/x-webarchive webarchive
    multipart/related mhtml mht
    application/msword doc dot
    application/vnd.ms-excel xls
    application/vnd.ms-powerpoint ppt
    application/vnd.openxmlformats-officedocument.wordprocessingml.document docx
    application/vnd.openxmlformats-officedocument.spreadsheetml.sheet xlsx
    application/vnd.openxmlformats-officedocument.presentationml.presentation pptx
    application/vnd.oasis.opendocument.text odt
    application/vnd.oasis.opendocument.spreadsheet ods
    application/vnd.oasis.opendocument.presentation odp
    application/epub+zip epub
    application/vnd.amazon.mobi8-ebook azw3
    application/vnd.sqlite3 sqlite sqlite3 db
    application/vnd.apple.pkpass pkpass
    application/x-apple-aspen-config mobileconfig
    application/x-plist plist
    application/vnd.apple.keynote key
    application/vnd.apple.pages pages
    application/vnd.apple.numbers numbers
    model/gltf+json gltf
    model/gltf-binary glb
    model/vnd.usdz+zip usdz
    model/vnd.usda usda
    model/obj obj
    model/stl stl
    application/vnd.adobe.flash.movie swf
    application/x-x509-ca-cert crt der cer
    application/x-pem-file pem
    application/pkcs12 p12 pfx
    application/x-protobuf protobuf pb
    message/rfc822 eml
    """
