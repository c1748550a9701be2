/// The pages that a WACZ was made of: `pages/pages.jsonl`, a line each, below one that says what the file is.
enum WACZPages {
    static let mostPages = 100_000
    /// The most bytes of a line.
    private static let mostLineBytes = 1 << 20
    /// The most bytes, and lines, that are read: a zip may have thousands of them in a few bytes.
    private static let mostBytes = 256 << 20
    private static let mostLines = 1_000_000

    static func read(_ zip: ZipDirectory, into contents: inout ArchiveContents) {
        guard let index = zip.find("pages/pages.jsonl".utf8) else { return }
        let place = zip.entries[index].offset
        var line: [UInt8] = []
        do throws(ArchiveProblem) {
            var stream = try zip.open(index)
            var part: [UInt8] = []
            var hasMore = true
            var (bytes, lines) = (0, 0)
            while hasMore, contents.pages.count < mostPages {
                part.removeAll(keepingCapacity: true)
                hasMore = try stream.read(65_536, into: &part)
                bytes += part.count
                guard bytes <= mostBytes, lines <= mostLines else {
                    throw .error("more than 256 MiB, or 1,000,000 lines, of it are not read", at: place)
                }
                for byte in part {
                    guard byte == 0x0A else {
                        if line.count <= mostLineBytes { line.append(byte) }
                        continue
                    }
                    add(line, place, &contents)
                    lines += 1
                    line.removeAll(keepingCapacity: true)
                }
            }
            add(line, place, &contents)
        } catch {
            contents.warn(.warning("pages/pages.jsonl: \(error.message)", at: place))
        }
    }

    private static func add(_ line: [UInt8], _ place: Int, _ contents: inout ArchiveContents) {
        guard line.contains(where: { $0 > 0x20 }), contents.pages.count < mostPages else { return }
        do throws(JSONError) {
            guard line.count <= mostLineBytes else {
                throw JSONError(kind: .refused, offset: 0, message: "a line is longer than \(mostLineBytes) bytes")
            }
            if let page = try page(line) { contents.pages.append(page) }
        } catch {
            contents.warn(.warning("pages/pages.jsonl: \(error.message)", at: place))
        }
    }

    /// - Returns: nil for a line that names no page of the web, such as the first.
    private static func page(_ line: [UInt8]) throws(JSONError) -> ArchivePage? {
        var scanner = JSONScanner(ArchiveBytes(line), room: line.count)
        guard try scanner.enterObject() else { throw scanner.unexpected("'{'") }
        var url: [UInt8] = []
        var title: String?
        while let name = try scanner.nextMember() {
            if name.elementsEqual("url".utf8) {
                url = try scanner.string().map { Array($0) } ?? []
            } else if name.elementsEqual("title".utf8) {
                title = try scanner.string().map { String(decoding: $0, as: UTF8.self) }
            } else {
                try scanner.skipValue()
            }
        }
        return PageLocations.isWeb(url) ? ArchivePage(url: url, title: title) : nil
    }
}
