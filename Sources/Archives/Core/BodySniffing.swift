/// Tells the type of a body that is said to be `application/octet-stream` by its first bytes.
enum BodySniffing {
    /// How many of the first bytes tell.
    static let length = 64

    /// - Returns: nil where they tell nothing.
    static func type(_ start: [UInt8]) -> String? {
        for (signature, type) in signatures where start.starts(with: signature) { return type }
        guard start.count >= 12 else { return nil }
        let (first, second, third) = (start[0..<4], start[4..<8], start[8..<12])
        if first.elementsEqual("RIFF".utf8), third.elementsEqual("WEBP".utf8) { return "image/webp" }
        guard second.elementsEqual("ftyp".utf8) else { return nil }
        let brand = String(decoding: third, as: UTF8.self)
        return brand == "avif" || brand == "avis" ? "image/avif" : "video/mp4"
    }

    private static let signatures: [([UInt8], String)] = [
        ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png"), ([0xFF, 0xD8, 0xFF], "image/jpeg"),
        (Array("GIF87a".utf8), "image/gif"), (Array("GIF89a".utf8), "image/gif"),
        (Array("wOFF".utf8), "font/woff"), (Array("wOF2".utf8), "font/woff2"), (Array("%PDF-".utf8), "application/pdf"),
    ]
}
