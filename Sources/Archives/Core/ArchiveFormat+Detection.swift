extension ArchiveFormat {
    /// Tells by the first bytes what a file is, and by its extension where these say nothing.
    ///
    /// - Throws: ``ArchiveProblem`` where it is none, with what to do.
    init(of input: ArchiveInput) throws(ArchiveProblem) {
        let start = try input.bytes.read(at: 0, upTo: 4096)
        var name = input.name.lowercased()[...]
        if name.hasSuffix(".gz") { name = name.dropLast(3) }
        let fileExtension = name.lastIndex(of: ".").map { String(name[name.index(after: $0)...]) } ?? ""
        if let format = try ArchiveFormat.detect(start, fileExtension) {
            self = format
            guard format == .har, start.starts(with: "PK".utf8) else { return }
            // Of zips only their names tell more.
            if try WACZReader.isWACZ(input.bytes) { self = .wacz }
        } else {
            throw ArchiveProblem(
                .error, "this is no archive: HAR, MHTML, webarchive, WARC and WACZ are read", at: .file)
        }
    }

    private static func detect(
        _ start: [UInt8], _ fileExtension: String
    ) throws(ArchiveProblem) -> ArchiveFormat? {
        if start.starts(with: "bplist0".utf8) { return .webarchive }
        if start.starts(with: "WARC/".utf8) { return .warc }
        if start.starts(with: [0x1F, 0x8B]) { return .warc }
        if start.starts(with: [0x28, 0xB5, 0x2F, 0xFD]) || start.starts(with: [0x50, 0x2A, 0x4D, 0x18]) {
            throw ArchiveProblem(
                .error, ".warc.zst is not read: 'zstd -d FILE' makes a .warc of it, which is", at: .file)
        }
        if start.starts(with: "filedesc://".utf8) {
            throw ArchiveProblem(.error, "ARC is not read: 'warcio recompress' makes a .warc.gz of it", at: .file)
        }
        if start.starts(with: "PK\u{3}\u{4}".utf8) || start.starts(with: "PK\u{5}\u{6}".utf8) {
            return fileExtension == "wacz" ? .wacz : .har
        }
        var text = start[...]
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        text = text.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
        if text.first == UInt8(ascii: "{") { return .har }
        if Array(text.prefix(32)).starts(withIgnoringCase: "<?xml")
            || Array(text.prefix(32)).starts(withIgnoringCase: "<!doctype plist")
            || Array(text.prefix(32)).starts(withIgnoringCase: "<plist")
        {
            return .webarchive
        }
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

    /// Whether it begins as a message does: a field of those that MHTML's writers put first.
    private static func looksLikeMessage(_ text: ArraySlice<UInt8>) -> Bool {
        let start = Array(text.prefix(4096))
        return start.starts(withIgnoringCase: "from:") || start.starts(withIgnoringCase: "mime-version:")
            || start.starts(withIgnoringCase: "content-type:") || start.starts(withIgnoringCase: "subject:")
            || start.starts(withIgnoringCase: "date:") || start.starts(withIgnoringCase: "snapshot-content-location:")
    }
}

extension ArchiveInput {
    /// Whether a file that may be a map is an archive instead: maps are YAML, of which JSON is a part, and YAML says
    /// nothing in its first bytes. Does I/O.
    public var isArchive: Bool {
        guard let start = try? bytes.read(at: 0, upTo: 4096) else { return false }
        // What is refused as an archive is no map either.
        if start.starts(with: "PK\u{3}\u{4}".utf8) || start.starts(with: [0x28, 0xB5, 0x2F, 0xFD]) { return true }
        guard let format = try? ArchiveFormat(of: self) else { return false }
        let lowercased = name.lowercased()
        switch format {
        case .har:
            if lowercased.hasSuffix(".har") || start.starts(with: "PK".utf8) { return true }
            return firstMember(of: start) == "log"
        case .mhtml:
            if [".mhtml", ".mht", ".mhtm", ".eml"].contains(where: { lowercased.hasSuffix($0) }) { return true }
            return String(decoding: start, as: UTF8.self).lowercased().contains("mime-version:")
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
