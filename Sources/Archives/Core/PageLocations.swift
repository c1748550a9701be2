import HTTPSemantics
import NIOCore

/// Knows at which URLs the parts of a saved page answer (RFC 2557 §5).
struct PageLocations: Sendable {
    /// Below what a document that has no URL of http or https is answered.
    private static let invented = Array("http://archive.invalid".utf8)

    /// The document's URL, of http or https.
    let document: [UInt8]
    /// Whether ``document`` is below `http://archive.invalid/`; `file:` URLs are then, too.
    let isInvented: Bool
    /// What locations are relative to, by the number that a part has.
    let bases: [[UInt8]]

    /// - Parameters:
    ///   - location: of the document; nil where it has none.
    ///   - fallbacks: what else may be the document's URL, the best first.
    init(document location: [UInt8]?, ownBase: [UInt8]?, base: UInt32, bases: [[UInt8]], fallbacks: [[UInt8]]) {
        self.bases = bases
        let candidates = PageLocations.candidates(ownBase, base, bases)
        var urls = fallbacks.map(RecordedURL.repaired)
        if let location, !location.isEmpty, !location.starts(withIgnoringCase: "cid:") {
            urls.insert(PageLocations.resolve(RecordedURL.repaired(location), against: candidates), at: 0)
        }
        if let url = urls.first(where: PageLocations.isWeb) {
            document = url
            isInvented = false
            return
        }
        isInvented = true
        document = urls.lazy.compactMap(PageLocations.inventedURL).first ?? PageLocations.invented + [0x2F]
    }

    /// The URL at which a part answers, as it is recorded; empty where it has none.
    ///
    /// - Parameters:
    ///   - location: its Content-Location.
    ///   - ownBase: its Content-Base.
    ///   - base: the number of what surrounds it in ``bases``.
    ///   - id: its Content-ID.
    func url(location: [UInt8], ownBase: [UInt8], base: UInt32, id: [UInt8]) -> [UInt8] {
        let location = RecordedURL.repaired(location)
        var id = id
        if location.starts(withIgnoringCase: "cid:") {
            id = Array(location.dropFirst(4))
        } else if !location.isEmpty {
            var candidates = PageLocations.candidates(ownBase, base, bases)
            candidates.append(document)
            if isInvented { candidates = candidates.map { PageLocations.inventedURL($0) ?? $0 } }
            let url = PageLocations.resolve(location, against: candidates)
            if PageLocations.isWeb(url) { return url }
            if isInvented, let url = PageLocations.inventedURL(url) { return url }
            if id.isEmpty { return url }
        }
        return id.isEmpty ? [] : PageLocations.folder(of: document) + ContentIDs.segment(id)
    }

    /// A URL up to the last `/` of its path, that one included.
    static func folder(of url: [UInt8]) -> [UInt8] {
        guard let uri = try? TargetURI(absolute: ByteBuffer(bytes: url)) else { return [] }
        return uri.withBytes { bytes in
            let path = bytes.rebased(0..<uri.pathEnd)
            return Array(path[0...(path.lastIndex(of: 0x2F) ?? path.count - 1)])
        }
    }

    static func isWeb(_ url: [UInt8]) -> Bool {
        url.starts(withIgnoringCase: "http://") || url.starts(withIgnoringCase: "https://")
    }

    private static func candidates(_ ownBase: [UInt8]?, _ base: UInt32, _ bases: [[UInt8]]) -> [[UInt8]] {
        var candidates: [[UInt8]] = []
        if let ownBase, !ownBase.isEmpty { candidates.append(RecordedURL.repaired(ownBase)) }
        if bases.indices.contains(Int(base)), !bases[Int(base)].isEmpty {
            candidates.append(RecordedURL.repaired(bases[Int(base)]))
        }
        return candidates
    }

    /// What a reference means below the first base that it can be resolved against; itself where it is absolute.
    static func resolve(_ reference: [UInt8], against bases: [[UInt8]]) -> [UInt8] {
        guard !reference.withUnsafeBytes(URIReference.isAbsolute) else { return reference }
        for base in bases {
            guard let base = try? TargetURI(absolute: ByteBuffer(bytes: base)) else { continue }
            let resolved = reference.withUnsafeBytes { URIReference.resolve($0, against: base) }
            if let resolved { return resolved.withBytes { Array($0) } }
        }
        return reference
    }

    /// The URL below `http://archive.invalid/` of one that is of `file:` or `thismessage:`, or relative; nil for
    /// others.
    private static func inventedURL(_ url: [UInt8]) -> [UInt8]? {
        if let path = path(ofLocal: url) { return invented + path }
        guard !url.isEmpty, !url.withUnsafeBytes(URIReference.isAbsolute) else { return nil }
        return resolve(url, against: [invented + [0x2F]])
    }

    /// The path of a URL of `file:`, in the many forms that programs write, or of `thismessage:` (RFC 2557 §5).
    private static func path(ofLocal url: [UInt8]) -> [UInt8]? {
        var rest: ArraySlice<UInt8>
        var hasAuthority = false
        if url.starts(withIgnoringCase: "file:") {
            rest = url.dropFirst(5)
        } else if url.starts(withIgnoringCase: "thismessage:") {
            rest = url.dropFirst(12)
        } else {
            return nil
        }
        // Backslashes have become %5C.
        rest = unescaped(rest)[...]
        if rest.starts(with: [0x2F, 0x2F]) {
            rest = rest.dropFirst(2)
            hasAuthority = true
        }
        let isDrive = rest.dropFirst().first == 0x3A
        if hasAuthority, !isDrive, let slash = rest.firstIndex(of: 0x2F) { rest = rest[slash...] }
        while rest.first == 0x2F { rest.removeFirst() }
        return [0x2F] + rest
    }

    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == 0x25, rest.prefix(2).elementsEqual("5C".utf8) {
                rest = rest.dropFirst(2)
                out.append(0x2F)
            } else {
                out.append(byte)
            }
        }
        return out
    }
}
