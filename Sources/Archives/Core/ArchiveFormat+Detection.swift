extension ArchiveFormat {
    /// Tells by the first bytes what a file is, and by its extension where these say nothing.
    ///
    /// - Throws: ``ArchiveProblem`` where it is none, with what to do.
    init(of input: ArchiveInput) throws(ArchiveProblem) {
        let start = try input.bytes.read(at: 0, upTo: 4096)
        let fileExtension = ArchiveFormat.fileExtension(of: input.name)
        if let refusal = ArchiveFormat.refusal(start, fileExtension) {
            throw ArchiveProblem(.error, refusal, at: .file)
        }
        if let format = ArchiveFormat.detect(start, fileExtension) {
            self = format
            guard format == .har, start.starts(with: "PK".utf8) else { return }
            // Of zips only their names tell more.
            if fileExtension != "wacz" {
                if try WACZReader.isWACZ(input.bytes) { self = .wacz }
            } else if (try? HARZip.isOne(input.bytes)) != true || (try? WACZReader.isWACZ(input.bytes)) != false {
                self = .wacz
            }
        } else {
            throw ArchiveProblem(
                .error, "this is no archive: HAR, MHTML, webarchive, WARC and WACZ are read", at: .file)
        }
    }

    /// In lower case, without that of gzip.
    fileprivate static func fileExtension(of name: String) -> String {
        var name = name.lowercased()[...]
        if name.hasSuffix(".gz") { name = name.dropLast(3) }
        return name.lastIndex(of: ".").map { String(name[name.index(after: $0)...]) } ?? ""
    }

    private static func detect(_ start: [UInt8], _ fileExtension: String) -> ArchiveFormat? {
        if start.starts(with: "bplist0".utf8) { return .webarchive }
        if start.starts(with: "WARC/".utf8) { return .warc }
        if start.starts(with: [0x1F, 0x8B]) { return .warc }
        if start.starts(with: "PK\u{3}\u{4}".utf8) || start.starts(with: "PK\u{5}\u{6}".utf8) {
            return .har
        }
        let text = beginning(start)
        if text.first == UInt8(ascii: "{") { return .har }
        if Array(text.prefix(32)).starts(withIgnoringCase: "<?xml")
            || Array(text.prefix(32)).starts(withIgnoringCase: "<!doctype plist")
            || Array(text.prefix(32)).starts(withIgnoringCase: "<plist")
        {
            return .webarchive
        }
        // A recording may begin with a word and a colon too; a message of MIME's says its version.
        if looksLikeMessage(text), saysMIME(text) { return .mhtml }
        switch fileExtension {
        case "mhtml", "mht", "mhtm", "eml": return .mhtml
        case "har": return .har
        case "webarchive": return .webarchive
        case "warc": return .warc
        case "wacz": return .wacz
        case "yaml", "yml": return .recording
        default: return looksLikeMessage(text) ? .mhtml : beginsAsList(text) ? .recording : nil
        }
    }

    /// A text behind what says nothing.
    private static func beginning(_ start: [UInt8]) -> ArraySlice<UInt8> {
        var text = start[...]
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        return text.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
    }

    // MARK: What is not read

    /// What to do with a file of a kind that is known and not read; nil for another. It is an archive, and no map.
    fileprivate static func refusal(_ start: [UInt8], _ fileExtension: String) -> String? {
        if start.starts(with: [0x28, 0xB5, 0x2F, 0xFD]) || start.starts(with: [0x50, 0x2A, 0x4D, 0x18]) {
            return ".warc.zst is not read: 'zstd -d FILE' makes a .warc of it, which is"
        }
        if isARC(start, fileExtension) {
            return "ARC is not read: 'warcio recompress' makes a .warc.gz of it, which is"
        }
        if let name = compressed(start) {
            return "a compressed \(name) is not read: 'gunzip FILE' makes one of it that is"
        }
        let text = beginning(start)
        if beginsAsFlow(text) || (isUnknown(text) && ["flow", "flows", "mitm"].contains(fileExtension)) {
            return
                "flows of mitmproxy are not read: 'mitmdump -nr FILE --set hardump=out.har' makes a .har of them, which is"
        }
        if isHTML(text, fileExtension) {
            return "a page in a single .html file is not read; .mhtml and .webarchive are"
        }
        return nil
    }

    private static func isARC(_ start: [UInt8], _ fileExtension: String) -> Bool {
        let mark = "filedesc://".utf8
        guard start.starts(with: [0x1F, 0x8B]) else { return start.starts(with: mark) }
        let decoded = decompressed(start)
        return decoded.starts(with: mark) || (decoded.isEmpty && fileExtension == "arc")
    }

    /// The kind of an archive that is in gzip, and is none that is read so.
    private static func compressed(_ start: [UInt8]) -> String? {
        guard start.starts(with: [0x1F, 0x8B]) else { return nil }
        switch detect(decompressed(start), "") {
        case .har: return "HAR"
        case .mhtml: return "MHTML"
        case .webarchive: return "webarchive"
        default: return nil
        }
    }

    /// Some of what gzip has at its beginning.
    private static func decompressed(_ start: [UInt8]) -> [UInt8] {
        var decoded: [UInt8] = []
        let opened = try? ContentDecoder.stream(
            MemoryStream(start), codings: ["gzip"], storedBytes: start.count, limits: ArchiveLimits())
        guard var stream = opened else { return [] }
        while decoded.count < 64, (try? stream.read(64, into: &decoded)) == true {}
        return decoded
    }

    /// Whether bytes say nothing of what they are, so that the extension does.
    private static func isUnknown(_ text: ArraySlice<UInt8>) -> Bool {
        text.first != UInt8(ascii: "{") && !looksLikeMessage(text) && !text.starts(with: "WARC/".utf8)
            && !text.starts(with: "PK".utf8) && !text.starts(with: "bplist0".utf8)
            && !text.starts(with: [0x1F, 0x8B])
    }

    /// Whether it begins as a netstring with a name in it (`1743:9:websocket;0:~…`), as flows of mitmproxy do.
    private static func beginsAsFlow(_ text: ArraySlice<UInt8>) -> Bool {
        let parts = text.prefix(64).split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].count < 20, parts[1].count == 1 || parts[1].count == 2 else { return false }
        guard !parts[0].isEmpty, (parts[0] + parts[1]).allSatisfy({ $0 &- 0x30 < 10 }) else { return false }
        let length = parts[1].reduce(0) { $0 * 10 + Int($1 & 15) }
        guard length > 0, parts[2].count > length, let end = parts[2].dropFirst(length).first else { return false }
        return (end == UInt8(ascii: ";") || end == UInt8(ascii: ","))
            && parts[2].prefix(length).allSatisfy { ($0 | 0x20) &- 0x61 < 26 || $0 == UInt8(ascii: "_") }
    }

    private static func isHTML(_ text: ArraySlice<UInt8>, _ fileExtension: String) -> Bool {
        let start = Array(text.prefix(64))
        let marks: [StaticString] = [
            "<!doctype html", "<html", "<head", "<!-- saved from", "<!--\n page saved with singlefile",
        ]
        if marks.contains(where: { start.starts(withIgnoringCase: $0) }) { return true }
        return ["html", "htm", "xhtml"].contains(fileExtension) && isUnknown(text)
    }

    /// Whether the first line of YAML that says anything begins a list.
    static func beginsAsList(_ text: ArraySlice<UInt8>) -> Bool {
        for line in text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let line = line.drop { $0 == 0x20 }
            guard let first = line.first, first != UInt8(ascii: "#"), first != UInt8(ascii: "%") else { continue }
            if line.starts(with: "---".utf8) { continue }
            let second = line.dropFirst().first ?? 0x20
            return first == UInt8(ascii: "[") || (first == UInt8(ascii: "-") && (second == 0x20 || second == 0x09))
        }
        return false
    }

    fileprivate static func saysMIME(_ text: ArraySlice<UInt8>) -> Bool {
        String(decoding: text.prefix(4096), as: UTF8.self).lowercased().contains("mime-version:")
    }

    /// Whether it begins as a message does: a field of those that MHTML's writers put first.
    private static func looksLikeMessage(_ text: ArraySlice<UInt8>) -> Bool {
        let start = Array(text.prefix(4096))
        return start.starts(withIgnoringCase: "from:") || start.starts(withIgnoringCase: "mime-version:")
            || start.starts(withIgnoringCase: "content-type:") || start.starts(withIgnoringCase: "subject:")
            || start.starts(withIgnoringCase: "date:") || start.starts(withIgnoringCase: "snapshot-content-location:")
    }
}

extension ArchiveFormat {
    /// Whether a name is one that an archive has, and no map.
    public static func isNamed(_ name: String) -> Bool {
        let name = name.lowercased()
        return [".har", ".mhtml", ".mht", ".webarchive", ".warc", ".warc.gz", ".wacz", ".har.zip"].contains {
            name.hasSuffix($0)
        }
    }
}

extension ArchiveInput {
    /// Whether a file that may be a map is an archive instead: maps are YAML, of which JSON is a part, and YAML says
    /// nothing in its first bytes. Does I/O.
    public var isArchive: Bool {
        guard let start = try? bytes.read(at: 0, upTo: 4096) else { return false }
        if start.starts(with: "PK\u{3}\u{4}".utf8) { return true }
        // What is refused as an archive is no map either.
        if ArchiveFormat.refusal(start, ArchiveFormat.fileExtension(of: name)) != nil { return true }
        guard let format = try? ArchiveFormat(of: self) else { return false }
        let lowercased = name.lowercased()
        switch format {
        case .har:
            if lowercased.hasSuffix(".har") || start.starts(with: "PK".utf8) { return true }
            return firstMember(of: start) == "log"
        case .mhtml:
            if [".mhtml", ".mht", ".mhtm", ".eml"].contains(where: { lowercased.hasSuffix($0) }) { return true }
            return ArchiveFormat.saysMIME(start[...])
        case .webarchive, .warc, .wacz: return true
        case .recording:
            return lowercased.split(separator: "/").last == "recording.yaml" || ArchiveFormat.beginsAsList(start[...])
        }
    }

    /// The name of the first member of an object of JSON's.
    private func firstMember(of start: [UInt8]) -> String? {
        let text = start.drop { $0 != UInt8(ascii: "{") }.dropFirst().drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
        guard text.first == UInt8(ascii: "\"") else { return nil }
        return String(decoding: text.dropFirst().prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
    }
}
