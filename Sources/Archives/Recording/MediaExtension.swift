import HTTPSemantics

/// The extensions of files by their media types.
enum MediaExtension {
    /// The extension of what has a Content-Type; nil where it has none that is known.
    static func of(_ type: [UInt8]) -> String? {
        guard let media = type.withUnsafeBytes({ MediaType($0) }) else { return nil }
        let essence = String(decoding: media.essence, as: UTF8.self)
        if let known = extensions[essence] { return known }
        if essence.hasSuffix("+json") { return "json" }
        if essence.hasSuffix("+xml") { return "xml" }
        return essence.hasPrefix("text/") ? "txt" : nil
    }

    /// Whether an extension is one that files of a type have.
    static func isOne(_ name: ArraySlice<UInt8>, of type: [UInt8]) -> Bool {
        guard let media = type.withUnsafeBytes({ MediaType($0) }), let known = of(type) else { return false }
        let text = String(decoding: name, as: UTF8.self).lowercased()
        return text == known || text == others[known]
            || ExtensionTable.builtIn.type(forExtension: name)?.essence == media.essence
    }

    private static let others = ["jpg": "jpeg", "html": "htm", "js": "mjs", "txt": "text", "tif": "tiff"]

    private static let extensions = [
        "text/html": "html", "application/xhtml+xml": "xhtml", "text/css": "css", "text/javascript": "js",
        "application/javascript": "js", "application/x-javascript": "js", "application/ecmascript": "js",
        "application/json": "json", "text/json": "json", "application/ld+json": "json",
        "application/manifest+json": "webmanifest", "application/x-ndjson": "ndjson", "application/json-seq": "json",
        "text/plain": "txt", "text/csv": "csv", "text/markdown": "md", "text/calendar": "ics", "text/vtt": "vtt",
        "text/event-stream": "txt", "text/xml": "xml", "application/xml": "xml", "application/rss+xml": "rss",
        "application/atom+xml": "atom", "image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpg",
        "image/jpg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/avif": "avif", "image/bmp": "bmp",
        "image/tiff": "tif", "image/x-icon": "ico", "image/vnd.microsoft.icon": "ico", "font/woff": "woff",
        "font/woff2": "woff2", "font/ttf": "ttf", "font/otf": "otf", "application/font-woff": "woff",
        "application/font-woff2": "woff2", "application/x-font-ttf": "ttf", "application/vnd.ms-fontobject": "eot",
        "application/pdf": "pdf", "application/zip": "zip", "application/gzip": "gz", "application/x-gzip": "gz",
        "application/wasm": "wasm", "application/yaml": "yaml", "application/toml": "toml",
        "application/octet-stream": "bin", "application/x-protobuf": "pb", "application/grpc": "bin",
        "application/x-www-form-urlencoded": "txt", "multipart/form-data": "txt", "audio/mpeg": "mp3",
        "audio/ogg": "ogg", "audio/wav": "wav", "audio/mp4": "m4a", "audio/webm": "weba", "video/mp4": "mp4",
        "video/webm": "webm", "video/ogg": "ogv", "video/mp2t": "ts", "application/vnd.apple.mpegurl": "m3u8",
        "application/x-mpegurl": "m3u8", "application/dash+xml": "mpd",
    ]
}
