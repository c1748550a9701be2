import Basics
import Glibc
import HTTPSemantics

/// The order of a recording's entries: the same for two recordings of a site that has not changed.
///
/// Entries are appended in the order in which responses end, and a browser asks for many things at once, as many as it has
/// connections for. What it asks for behind a page's document is therefore put into the order of its URLs, wherever the
/// order says nothing to who replays it. Each such request tells itself by `Sec-Fetch-Mode`
/// (https://www.w3.org/TR/fetch-metadata/); what has none stays where it is, as of programs that ask for one thing after
/// the other.
///
/// An order says something in two cases. Several answers of one sequence are given in turn. And a request of a method that
/// changes something divides what was answered before it from what was answered behind it, on its path, above and below:
/// but only where there are different answers, since whoever has one answer alone gets that.
public enum RecordingOrder {
    /// When an exchange began and ended, in milliseconds.
    public struct Span: Sendable, Equatable {
        public var start: Int64
        public var end: Int64

        public init(start: Int64, end: Int64) { (self.start, self.end) = (start, end) }
    }

    /// Why a recording can't be sorted.
    enum Refusal: Error {
        case notAsWritten
        case system(SystemError)
    }

    /// The entries' numbers, from 0, in that order. Does I/O.
    ///
    /// - Parameters:
    ///   - blocks: their lines in the list.
    ///   - spans: those of the entries; none, or too few, where they are not known.
    ///   - key: of a URL, what it is sorted by: the same for all URLs of a sequence.
    /// - Throws: ``ArchiveProblem`` where an entry can't be read.
    static func order(
        _ archive: Archive, _ blocks: [ArraySlice<UInt8>], spans: [Span] = [], key: ([UInt8]) -> [UInt8]
    ) throws(ArchiveProblem) -> [Int] {
        var entries: [OrderedEntry] = []
        for index in blocks.indices {
            let exchange = try archive.exchange(index)
            let span = spans.count == blocks.count ? spans[index] : Span(start: Int64(index), end: Int64(index))
            entries.append(OrderedEntry(exchange, index, blocks[index], span, key: key(exchange.url)))
        }
        findDifferences(&entries)
        findPlaces(&entries)
        return entries.sorted().map(\.index)
    }

    /// Finds out which entries have an answer that others of their path have not.
    private static func findDifferences(_ entries: inout [OrderedEntry]) {
        var answers: [[UInt8]: ArraySlice<UInt8>] = [:]
        var different: Set<[UInt8]> = []
        for entry in entries {
            if let known = answers[entry.family] {
                if known != entry.answer { different.insert(entry.family) }
            } else {
                answers[entry.family] = entry.answer
            }
        }
        for index in entries.indices { entries[index].isDivided = different.contains(entries[index].family) }
    }

    private static func findPlaces(_ entries: inout [OrderedEntry]) {
        let pages = findChapters(&entries)
        let limits = limits(entries)
        var changes = PathValues<OrderedEntry.Place>()
        var divided = PathValues<OrderedEntry.Place>()
        for index in entries.indices {
            let entry = entries[index]
            var place = entry.place
            if entry.kind == .ofPage {
                // The last page that had begun, which is found by halves.
                var (low, high) = (0, pages.count)
                while low < high {
                    let middle = (low + high) / 2
                    if pages[middle].start <= entry.span.start { low = middle + 1 } else { high = middle }
                }
                // While a form is on its way, the page before goes on.
                while low > 0, pages[low - 1].chapter >= limits[index] { low -= 1 }
                place.chapter = low > 0 ? pages[low - 1].chapter : 0
                if entry.isDivided { place.move(behind: changes.last(around: entry.path)) }
                if entry.changes { place.move(behind: divided.last(around: entry.path)) }
                entries[index].place = place
            }
            if entry.changes { changes.add(place, at: entry.path) }
            if entry.isDivided { divided.add(place, at: entry.path) }
        }
    }

    /// Gives chapters to what others stand behind: pages where they began, and where they were answered such as change
    /// something, and what programs ask for.
    ///
    /// - Returns: the pages in the order in which they began.
    private static func findChapters(_ entries: inout [OrderedEntry]) -> [(start: Int64, chapter: Int)] {
        var fixed: [(time: Int64, index: Int)] = []
        var changes = PathValues<Int64>()
        var last = Int64.min
        for entry in entries where entry.kind != .ofPage {
            // Whatever the clock did, these stay in their order.
            last = max(last, entry.span.end)
            var time = last
            if entry.kind == .page, !entry.changes {
                // What ended behind such a change may be its answer, whenever it began.
                let change = entry.isDivided ? changes.last(around: entry.path) : nil
                time = min(last, max(entry.span.start, change ?? .min))
            }
            if entry.changes { changes.add(time, at: entry.path) }
            fixed.append((time, entry.index))
        }
        fixed.sort { ($0.time, $0.index) < ($1.time, $1.index) }
        var pages: [(start: Int64, chapter: Int)] = []
        for (number, place) in fixed.enumerated() {
            entries[place.index].place.chapter = number + 1
            if entries[place.index].kind == .page { pages.append((entries[place.index].span.start, number + 1)) }
        }
        return pages.sorted { ($0.start, $0.chapter) < ($1.start, $1.chapter) }
    }

    /// The chapters that entries have to stand before: those of pages, and of what programs asked for, that changed
    /// something and were answered behind them. What has to stand behind an entry, as it does, has no earlier one.
    private static func limits(_ entries: [OrderedEntry]) -> [Int] {
        // What is found is the last value, of numbers below zero the first chapter.
        var changes = PathValues<Int>()
        var divided = PathValues<Int>()
        var limits = entries.map { _ in Int.max }
        for entry in entries.reversed() {
            if entry.kind == .ofPage {
                let first = [
                    entry.isDivided ? changes.last(around: entry.path) : nil,
                    entry.changes ? divided.last(around: entry.path) : nil,
                ].compactMap(\.self).max()
                guard let first else { continue }
                limits[entry.index] = -first
                if entry.isDivided { divided.add(first, at: entry.path) }
                if entry.changes { changes.add(first, at: entry.path) }
            } else if entry.changes {
                changes.add(-entry.place.chapter, at: entry.path)
            }
        }
        return limits
    }

    /// Sorts a recording that was just written, which nobody else writes to. At each moment it is whole.
    ///
    /// A body that several entries share is named after the first of them, if the name is free. Does I/O.
    ///
    /// - Parameters:
    ///   - folder: the recording's.
    ///   - spans: see ``order(_:_:spans:key:)``.
    ///   - key: likewise.
    /// - Throws: where it can't be sorted; then it is as it was.
    public static func sort(_ folder: String, spans: [Span] = [], key: ([UInt8]) -> [UInt8]) throws {
        let list = folder + "/recording.yaml"
        let source = try FileReading.contents(of: list, upTo: 1 << 30)
        var input = ArchiveInput(name: list, bytes: ArchiveBytes(source))
        input.sibling = { _ in ArchiveBytes([]) }
        let archive = try Archive.open(input)
        let blocks = blocks(source)
        guard blocks.entries.count == archive.table.count else { throw Refusal.notAsWritten }
        let order = try order(archive, blocks.entries.map { source[$0] }, spans: spans, key: key)
        guard order != Array(order.indices) else { return }
        var sorted = Array(source[..<blocks.start])
        var names = RecordingNames()
        var renamed: [[UInt8]: [UInt8]] = [:]
        let root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { throw Refusal.system(SystemError()) }
        defer { close(root) }
        for index in order {
            let block = Array(source[blocks.entries[index]])
            guard let line = fileLine(block) else {
                sorted += block
                continue
            }
            let old = Array(block[line])
            if renamed[old] == nil {
                let exchange = try archive.exchange(index)
                let new = names.name(exchange.url, method: exchange.method, type: exchange.value("content-type") ?? [])
                renamed[old] = rename(old, new, in: root) ? new : old
            }
            sorted += block[..<line.lowerBound] + (renamed[old] ?? old) + block[line.upperBound...]
        }
        try replace(list, by: sorted)
        let used = Set(renamed.values)
        for old in renamed.keys where !used.contains(old) {
            if let place = place(of: old, in: root) { unlinkat(place.folder, place.name, 0) }
        }
    }

    /// Where entries begin and end: each begins with `- ` at the start of a line.
    static func blocks(_ source: [UInt8]) -> (start: Int, entries: [Range<Int>]) {
        var starts: [Int] = []
        var isAtStart = true
        for (index, byte) in source.enumerated() {
            if isAtStart, byte == UInt8(ascii: "-") { starts.append(index) }
            isAtStart = byte == 0x0A
        }
        let ends = starts.dropFirst() + [source.count]
        return (starts.first ?? source.count, zip(starts, ends).map { $0..<$1 })
    }

    /// Where an entry's lines name the file of its body, which is their last; nil where they name none, or in quotes.
    private static func fileLine(_ block: [UInt8]) -> Range<Int>? {
        let mark = Array("\n  file: files/".utf8)
        guard block.last == 0x0A, let start = block.dropLast().lastIndex(of: 0x0A),
            block[start...].starts(with: mark)
        else { return nil }
        return (start + mark.count - "files/".utf8.count)..<(block.count - 1)
    }

    /// Nil where a folder on the way to a file is none, or a link.
    private static func place(of name: [UInt8], in root: CInt) -> RecordingPlace? {
        guard case .place(let place) = try? RecordingPlace.find(name, in: root, making: nil) else { return nil }
        return place
    }

    /// Gives a file a second name; false where the name is taken, or needs quotes in the list.
    private static func rename(_ old: [UInt8], _ new: [UInt8], in root: CInt) -> Bool {
        guard new != old, YAMLText.scalar(new, in: .block) == new, let from = place(of: old, in: root),
            let to = place(of: new, in: root)
        else { return false }
        return linkat(from.folder, from.name, to.folder, to.name, 0) == 0
    }

    private static func replace(_ list: String, by bytes: [UInt8]) throws {
        var status = stat()
        guard stat(list, &status) == 0 else { throw Refusal.system(SystemError()) }
        let scratch = list + ".recording-part"
        unlink(scratch)
        let descriptor = open(scratch, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0o7777)
        guard descriptor >= 0 else { throw Refusal.system(SystemError()) }
        defer { close(descriptor) }
        do throws(SystemError) { try RecordingFiles.write(bytes, to: descriptor) } catch {
            unlink(scratch)
            throw Refusal.system(error)
        }
        guard Glibc.rename(scratch, list) == 0 else {
            let failure = SystemError()
            unlink(scratch)
            throw Refusal.system(failure)
        }
    }
}

extension RecordingWriter {
    /// The files that a list of entries names, by their paths below its folder; nil where it is no such list.
    ///
    /// - Parameter list: the bytes of `recording.yaml`.
    public static func files(_ list: [UInt8]) -> Set<String>? {
        guard let reader = try? RecordingReader(list, hasFile: { _ in true }) else { return nil }
        var files: Set<String> = []
        do throws(ArchiveProblem) {
            try reader.forEachFile { path, _ in files.insert(String(decoding: path, as: UTF8.self)) }
        } catch {
            return nil
        }
        return files
    }
}
