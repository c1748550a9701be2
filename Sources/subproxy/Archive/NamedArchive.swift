import Archives
import Basics
import Diagnostics
import Glibc
import HTTPSemantics
import NIOCore
import Substitution

/// An archive that a command line names.
struct NamedArchive {
    let archive: Archive
    private let file: ArchiveFile

    /// Opens it, and prints its warnings on standard error.
    ///
    /// - Parameter name: a file's, or that of a folder that is a recording.
    /// - Throws: ``CommandFailure`` with status 66 where it can't be read, 65 where it is no archive or has an error.
    init(_ name: String) throws(CommandFailure) {
        let path = RecordingFolder.archive(of: name)
        try RecordingFolder.refuseOther(name)
        if path != name, access(path, F_OK) != 0, errno == ENOENT {
            throw CommandFailure(status: .noInput, message: "the folder '\(name)' has no recording.yaml")
        }
        if let reason = LocalFile.unreadableReason(path) {
            throw CommandFailure(status: .noInput, message: "the archive '\(name)' can't be read: \(reason)")
        }
        do throws(MapFileError) {
            file = try ArchiveFile(path: path)
        } catch {
            throw CommandFailure(status: .noInput, message: "the archive '\(name)' can't be read")
        }
        var input = ArchiveInput(file, name: path)
        let progress = ReadingProgress()
        let size = input.bytes.count
        input.progress = { progress.show(name, read: $0, of: size) }
        defer { progress.end() }
        do throws(ArchiveProblem) {
            archive = try Archive.open(input)
        } catch {
            StandardStream.error.writeLine(error.description(file: path))
            throw CommandFailure(status: .dataError, message: "")
        }
        for message in archive.messages { StandardStream.error.writeLine(message.rendering) }
    }

    /// What the file is called in an entry's position.
    private var shortName: Substring { archive.name.split(separator: "/").last ?? "" }

    /// `checkout.har#17`.
    func position(_ index: Int) -> String { shortName + archive.table.number(index) }

    /// The URL that an entry is answered at; where it is answered at none, what was recorded as one.
    func url(_ index: Int, _ exchange: RecordedExchange) -> [UInt8] {
        let url = archive.table[index].url
        return url.isEmpty ? exchange.url : Array(url)
    }

    // MARK: Entries

    /// The entry that a number from 1, a number in a WACZ (`data.warc.gz#12`), a position or a URL names; nil for none.
    func entry(_ text: String) -> Int? {
        if let number = DecimalNumber.parse(text.utf8) {
            return (1...max(archive.table.count, 1)).contains(number) && archive.table.count > 0 ? number - 1 : nil
        }
        let numbers = [":\(text)", text.hasPrefix(shortName) ? String(text.dropFirst(shortName.count)) : text]
        if text.contains("#") || text.hasPrefix(shortName),
            let named = archive.table.entry(numbered: numbers)
        {
            return named
        }
        let page = text.prefix { $0 != "#" }
        guard let uri = try? TargetURI(String(page)) else { return entry(recorded: Array(page.utf8)) }
        return entry(uri)
    }

    /// The first entry that answers a GET of the URL, else the first that has it.
    private func entry(_ uri: TargetURI) -> Int? {
        let url = uri.withBytes { Array($0) }
        let table = archive.table
        let same = (0..<table.count).filter { table[$0].url.elementsEqual(url) }
        if let found = same.first(where: { table[$0].isUsable && table[$0].method == "GET" }) { return found }
        if let alias = table.aliases.first(where: { $0.url == url }) { return alias.entry }
        return same.first { table[$0].isUsable } ?? same.first ?? table.contentIDs.entry(url: url)
    }

    /// The entry whose URL is none of http or https.
    private func entry(recorded url: [UInt8]) -> Int? {
        (0..<archive.table.count).first { index in
            archive.table[index].url.isEmpty && (try? archive.exchange(index))?.url == url
        }
    }

    // MARK: Bodies

    /// Names the state of a body, for the tag of one that is not in memory.
    func state(_ index: Int, _ body: RecordedBody) -> String { file.state(of: index, body) }

    /// How many bytes a body has decoded, before anything in it is rewritten; nil where none was recorded.
    ///
    /// - Throws: ``Archives/ArchiveProblem`` where it can't be read or decoded.
    func size(_ index: Int, _ exchange: RecordedExchange) throws(ArchiveProblem) -> Int? {
        var body = exchange.body
        guard !body.isMissing, archive.table[index].unusable != .bodyTruncated else { return nil }
        body.codings = OutgoingFields.removableCodings(exchange)
        if let size = body.size, body.codings.isEmpty, !body.isRewritten { return size }
        var stream = try ContentDecoder.stream(
            try archive.openStoredBody(index), codings: body.codings, storedBytes: body.storedBytes,
            limits: archive.limits)
        var size = 0
        var bytes: [UInt8] = []
        var isMore = true
        while isMore {
            bytes.removeAll(keepingCapacity: true)
            isMore = try stream.read(FileReading.pieceSize, into: &bytes)
            size += bytes.count
        }
        return size
    }
}
