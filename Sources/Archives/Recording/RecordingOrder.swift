import Basics
import Glibc
import HTTPSemantics

/// The order of a recording's entries: the same for two recordings of a site that has not changed.
///
/// Entries are appended in the order in which responses end, and a browser asks for many things at once. What scripts and
/// documents ask for by GET and HEAD between two navigations, or other methods, is therefore put into the order of
/// its URLs. Each such request tells itself by `Sec-Fetch-Mode` (https://www.w3.org/TR/fetch-metadata/); what has none stays
/// where it is, as of programs that ask for one thing after the other. What is one sequence when it is replayed keeps its
/// order.
///
/// Where times are known, such a request stands behind the navigations that had begun, and the others that had been
/// answered, when it began: which of several that are under way at once is answered first changes nothing then. What a
/// request of another method may have changed, on its path, above and below, stays behind it if it was answered behind it.
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
    ///   - spans: those of the entries; none, or too few, where they are not known.
    ///   - key: of a URL, what it is sorted by: the same for all URLs of a sequence.
    /// - Throws: ``ArchiveProblem`` where an entry can't be read.
    static func order(
        _ archive: Archive, spans: [Span] = [], key: ([UInt8]) -> [UInt8]
    ) throws(ArchiveProblem) -> [Int] {
        var fixed = [Fixed()]
        var requests: [(url: [UInt8], index: Int)] = []
        let hasSpans = spans.count == archive.table.count
        var last = Int64.min
        for index in 0..<archive.table.count {
            let exchange = try archive.exchange(index)
            if isSubrequest(exchange) {
                requests.append((exchange.url, index))
                if !hasSpans { fixed[fixed.count - 1].group.append((key(exchange.url), index)) }
            } else {
                let isRead = exchange.method == "GET" || exchange.method == "HEAD"
                var next = Fixed(index: index, path: isRead ? nil : path(exchange.url))
                if hasSpans, isRead, isOfBrowser(exchange) {
                    next.time = spans[index].start
                } else if hasSpans {
                    // Whatever the clock did, these stay in their order.
                    last = max(last, spans[index].end)
                    next.time = last
                }
                fixed.append(next)
            }
        }
        if hasSpans {
            // Of what stays where it is, navigations stand where they began, as what they ask for does.
            fixed = fixed.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(
                \.element)
            for (url, index) in requests {
                let path = path(url)
                // The last that it stands behind by its time.
                var (low, high) = (0, fixed.count)
                while low < high {
                    let middle = (low + high) / 2
                    if fixed[middle].time <= spans[index].start { low = middle + 1 } else { high = middle }
                }
                var place = max(0, low - 1)
                // What ended while it was under way may have changed it. Ends are cut to whole milliseconds, twice.
                let end = spans[index].end &+ 2
                while low < fixed.count, fixed[low].time <= end {
                    if fixed[low].mayHaveChanged(index, path) { place = low }
                    low += 1
                }
                fixed[place].group.append((key(url), index))
            }
        }
        return fixed.flatMap { fixed in
            // Of a sequence the first comes first.
            let group = fixed.group.sorted {
                ($0.key == $1.key) ? $0.index < $1.index : $0.key.lexicographicallyPrecedes($1.key)
            }
            return (fixed.index.map { [$0] } ?? []) + group.map(\.index)
        }
    }

    /// An entry that stays where it is, and those that stand behind it in the order of their URLs.
    private struct Fixed {
        /// Nil for what stands before all entries.
        var index: Int?
        /// Nil where it changes nothing.
        var path: ArraySlice<UInt8>?
        /// What begins then or later stands behind it.
        var time = Int64.min
        var group: [(key: [UInt8], index: Int)] = []

        /// Whether an entry that was answered behind it may be what it has changed.
        func mayHaveChanged(_ other: Int, _ path: ArraySlice<UInt8>) -> Bool {
            guard let index, index < other, let own = self.path else { return false }
            return RecordingOrder.isAbove(own, path) || RecordingOrder.isAbove(path, own)
        }
    }

    /// A URL without its query.
    private static func path(_ url: [UInt8]) -> ArraySlice<UInt8> {
        url.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    }

    /// Whether one path is the other, or begins it, as folders do.
    private static func isAbove(_ upper: ArraySlice<UInt8>, _ lower: ArraySlice<UInt8>) -> Bool {
        let upper = upper.last == UInt8(ascii: "/") ? upper.dropLast() : upper
        guard lower.starts(with: upper) else { return false }
        return lower.count == upper.count || lower.dropFirst(upper.count).first == UInt8(ascii: "/")
    }

    private static func isOfBrowser(_ exchange: RecordedExchange) -> Bool {
        exchange.requestFields.contains { $0.isNamed("sec-fetch-mode") }
    }

    /// Whether a request is one of those that come at once.
    private static func isSubrequest(_ exchange: RecordedExchange) -> Bool {
        guard exchange.method == "GET" || exchange.method == "HEAD",
            let mode = exchange.requestFields.first(where: { $0.isNamed("sec-fetch-mode") })
        else { return false }
        return !mode.value.elementsEqual("navigate".utf8)
    }

    /// Sorts a recording that was just written, which nobody else writes to. At each moment it is whole.
    ///
    /// A body that several entries share is named after the first of them, if the name is free. Does I/O.
    ///
    /// - Parameters:
    ///   - folder: the recording's.
    ///   - spans: see ``order(_:spans:key:)``.
    ///   - key: likewise.
    /// - Throws: where it can't be sorted; then it is as it was.
    public static func sort(_ folder: String, spans: [Span] = [], key: ([UInt8]) -> [UInt8]) throws {
        let list = folder + "/recording.yaml"
        let source = try FileReading.contents(of: list, upTo: 1 << 30)
        var input = ArchiveInput(name: list, bytes: ArchiveBytes(source))
        input.sibling = { _ in ArchiveBytes([]) }
        let archive = try Archive.open(input)
        let order = try order(archive, spans: spans, key: key)
        guard order != Array(order.indices) else { return }
        let blocks = blocks(source)
        guard blocks.entries.count == order.count else { throw Refusal.notAsWritten }
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
    private static func blocks(_ source: [UInt8]) -> (start: Int, entries: [Range<Int>]) {
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
