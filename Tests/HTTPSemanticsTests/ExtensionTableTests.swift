import HTTPSemantics
import ProxyTestKit
import Testing

@Suite("Media types by extension")
struct ExtensionTableTests {
    @Test(
        "Today's extensions have today's types",
        arguments: [
            ("html", "text/html"), ("htm", "text/html"), ("xhtml", "application/xhtml+xml"), ("css", "text/css"),
            ("js", "text/javascript"), ("mjs", "text/javascript"), ("cjs", "text/javascript"),
            ("json", "application/json"), ("jsonc", "application/json"), ("map", "application/json"),
            ("wasm", "application/wasm"), ("xml", "application/xml"), ("txt", "text/plain"), ("csv", "text/csv"),
            ("md", "text/markdown"), ("svg", "image/svg+xml"), ("png", "image/png"), ("apng", "image/apng"),
            ("jpg", "image/jpeg"), ("jpeg", "image/jpeg"), ("gif", "image/gif"), ("webp", "image/webp"),
            ("avif", "image/avif"), ("heic", "image/heic"), ("heif", "image/heif"), ("jxl", "image/jxl"),
            ("ico", "image/vnd.microsoft.icon"), ("bmp", "image/bmp"), ("tiff", "image/tiff"), ("tif", "image/tiff"),
            ("mp4", "video/mp4"), ("m4v", "video/mp4"), ("webm", "video/webm"), ("mov", "video/quicktime"),
            ("mp3", "audio/mpeg"), ("m4a", "audio/mp4"), ("aac", "audio/aac"), ("ogg", "audio/ogg"),
            ("oga", "audio/ogg"), ("ogv", "video/ogg"), ("opus", "audio/ogg"), ("wav", "audio/wav"),
            ("flac", "audio/flac"), ("m3u8", "application/vnd.apple.mpegurl"), ("ts", "video/mp2t"),
            ("mpd", "application/dash+xml"), ("vtt", "text/vtt"), ("srt", "application/x-subrip"),
            ("woff", "font/woff"), ("woff2", "font/woff2"), ("ttf", "font/ttf"), ("otf", "font/otf"),
            ("eot", "application/vnd.ms-fontobject"), ("pdf", "application/pdf"), ("zip", "application/zip"),
            ("gz", "application/gzip"), ("br", "application/x-brotli"), ("zst", "application/zstd"),
            ("tar", "application/x-tar"), ("7z", "application/x-7z-compressed"), ("usdz", "model/vnd.usdz+zip"),
            ("webarchive", "application/x-webarchive"), ("mhtml", "multipart/related"), ("mht", "multipart/related"),
            ("har", "application/json"), ("webmanifest", "application/manifest+json"),
            ("appcache", "text/cache-manifest"), ("ics", "text/calendar"), ("vcf", "text/vcard"),
            ("rss", "application/rss+xml"), ("atom", "application/atom+xml"), ("geojson", "application/geo+json"),
            ("jsonld", "application/ld+json"), ("yaml", "application/yaml"), ("yml", "application/yaml"),
            ("toml", "application/toml"), ("rtf", "application/rtf"), ("doc", "application/msword"),
            ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
            ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
            ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
            ("epub", "application/epub+zip"), ("apk", "application/vnd.android.package-archive"),
            ("ipa", "application/octet-stream"), ("dmg", "application/octet-stream"),
            ("deb", "application/vnd.debian.binary-package"), ("bin", "application/octet-stream"),
            ("glb", "model/gltf-binary"), ("gltf", "model/gltf+json"),
            ("mobileconfig", "application/x-apple-aspen-config"), ("plist", "application/x-plist"),
            ("swf", "application/vnd.adobe.flash.movie"),
        ])
    func builtIn(name: String, expected: String) {
        #expect(ExtensionTable.builtIn.type(forExtension: name.utf8)?.description == expected)
        #expect(ExtensionTable.builtIn.type(forExtension: name.uppercased().utf8)?.description == expected)
    }

    @Test(
        "A path's type is that of what follows its last dot",
        arguments: [
            ("a.png", "image/png"), ("/x.d/a.PNG", "image/png"), ("a.tar.gz", "application/gzip"),
            ("/x.png/a", "application/octet-stream"), ("a", "application/octet-stream"),
            ("", "application/octet-stream"),
            ("a.", "application/octet-stream"), (".png", "image/png"), ("a.unknown", "application/octet-stream"),
            ("a.png\0", "application/octet-stream"), ("a.pn\u{67}\u{301}", "application/octet-stream"),
            ("a.\0png", "application/octet-stream"), ("a.", "application/octet-stream"),
        ])
    func paths(path: String, expected: String) {
        #expect(ExtensionTable.builtIn.type(forPath: Array(path.utf8)).description == expected)
    }

    @Test("A mime.types file adds what is not there yet")
    func adding() {
        let text = """
            # a comment
            image/wrong\t\t\tpng
            chemical/x-pdb   PDB ent # not these
            application/x-none
            no-type-at-all   zzz
            text/x-first same\r
            text/x-second same
            text/x-long abcdefghijklmnop abcdefghijklmnopq
            """
        let table = ExtensionTable.builtIn.adding(mimeTypes: Array(text.utf8))
        #expect(table.type(forExtension: "png".utf8)?.description == "image/png")
        #expect(table.type(forExtension: "pdb".utf8)?.description == "chemical/x-pdb")
        #expect(table.type(forExtension: "ent".utf8)?.description == "chemical/x-pdb")
        #expect(table.type(forExtension: "same".utf8)?.description == "text/x-first")
        #expect(table.type(forExtension: "abcdefghijklmnop".utf8)?.description == "text/x-long")
        for name in ["not", "these", "zzz", "#", "abcdefghijklmnopq", ""] {
            #expect(table.type(forExtension: name.utf8) == nil)
        }
        #expect(table.count == ExtensionTable.builtIn.count + 4)
        #expect(ExtensionTable.builtIn.adding(mimeTypes: []).count == ExtensionTable.builtIn.count)
    }

    @Test("Bytes that are no such file do no harm")
    func hostile() {
        var generator = SeededGenerator(seed: 3)
        let bytes = (0..<60_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let table = ExtensionTable.builtIn.adding(mimeTypes: bytes)
        #expect(table.type(forExtension: "html".utf8)?.description == "text/html")
    }
}
