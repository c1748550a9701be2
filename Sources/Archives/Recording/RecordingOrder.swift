import Basics
import Glibc
import HTTPSemantics

/// The order of a recording's entries: the same for two recordings of a site that has not changed.
///
/// Entries are appended in the order in which responses end, and a browser asks for many things at once, as many as it
/// has connections for. What it asks for behind a page's document is therefore put into the order of its URLs, wherever
/// the order says nothing to who replays it. Each such request tells itself by `Sec-Fetch-Mode`
/// (https://www.w3.org/TR/fetch-metadata/); what has none stays in the order in which it was answered, as of programs
/// that ask for one thing after the other.
///
/// An order says something in two cases. Several answers of one sequence are given in turn. And a request of a method
/// that changes something divides what was answered before it from what was answered behind it, on its path, above and
/// below: but only where there are different answers, since whoever has one answer alone gets that.
///
/// An answer tells the state that the origin had when it began to answer, however long its body takes. So the moment of
/// an exchange is the one at which the response's head came. Every place below has a time that is no later than that
/// moment, and stands behind places of earlier moments alone: no two rules ask for opposite orders.
public enum RecordingOrder {
    /// When an exchange began, and when the head of its response came, by one clock.
    public struct Span: Sendable, Equatable {
        public var start: Int64
        public var answered: Int64

        public init(start: Int64, answered: Int64) { (self.start, self.answered) = (start, answered) }
    }

    /// The entries' numbers, from 0 for the first one that is sorted, in that order. Does I/O.
    ///
    /// - Parameters:
    ///   - first: the number of that one in the archive.
    ///   - blocks: their lines in the list.
    ///   - spans: those of the entries; none, or too few, where they are not known.
    ///   - body: what a request is sorted by whose body is in a file, by the file's name: the same for equal bodies.
    ///   - key: of a URL, what it is sorted by: the same for all URLs of a sequence.
    /// - Throws: ``ArchiveProblem`` where an entry can't be read.
    static func order(
        _ archive: Archive, from first: Int = 0, _ blocks: [ArraySlice<UInt8>], spans: [Span] = [],
        body: ([UInt8]) -> [UInt8] = { $0 }, key: ([UInt8]) -> [UInt8]
    ) throws(ArchiveProblem) -> [Int] {
        var entries: [OrderedEntry] = []
        for index in blocks.indices {
            let exchange = try archive.exchange(first + index)
            let span = spans.count == blocks.count ? spans[index] : Span(start: Int64(index), answered: Int64(index))
            var entry = OrderedEntry(exchange, index, blocks[index], span, key: key(exchange.url))
            if let place = SortedList.requestPlace(blocks[index]) {
                let request = entry.request
                entry.request =
                    request[..<place.lowerBound] + body(Array(request[place])) + request[place.upperBound...]
            }
            entries.append(entry)
        }
        entries.sort { ($0.span.answered, $0.index) < ($1.span.answered, $1.index) }
        for moment in entries.indices { entries[moment].moment = moment }
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

    /// Entries come in the order of their moments here, and in the functions below.
    private static func findPlaces(_ entries: inout [OrderedEntry]) {
        let pages = findChapters(&entries)
        var changes = PathValues<OrderedEntry.Place>()
        var dividedChanges = PathValues<OrderedEntry.Place>()
        var dividedReads = PathValues<OrderedEntry.Place>()
        for index in entries.indices {
            let entry = entries[index]
            let answered = entry.span.answered
            var place = entry.place
            if entry.kind == .ofPage {
                // The last page whose head had come: before that it can't ask for anything.
                let page = pages.countBefore { $0.span.answered <= entry.span.start && $0.moment < entry.moment }
                place.chapter = page > 0 ? pages[page - 1].place.chapter : 0
                if entry.changes {
                    place.move(behind: dividedReads.last(around: entry.path))
                    // Of those that were under way at once nobody can say which was first.
                    let start = entry.span.start
                    place.move(behind: dividedChanges.last(around: entry.path, until: start))
                    if entry.isDivided { place.move(behind: changes.last(around: entry.path, until: start)) }
                } else if entry.isDivided {
                    place.move(behind: changes.last(around: entry.path))
                }
                entries[index].place = place
            }
            if entry.changes { changes.add(place, at: entry.path, time: answered) }
            guard entry.isDivided else { continue }
            if entry.changes {
                dividedChanges.add(place, at: entry.path, time: answered)
            } else {
                dividedReads.add(place, at: entry.path, time: answered)
            }
        }
    }

    /// Gives chapters to what others stand behind: pages where they began, and where they were answered such as change
    /// something, and what programs ask for.
    ///
    /// - Returns: the pages in the order in which they were answered.
    private static func findChapters(_ entries: inout [OrderedEntry]) -> [OrderedEntry] {
        var fixed: [(time: Int64, moment: Int)] = []
        var changes = PathValues<Int64>()
        for entry in entries {
            var time = entry.span.answered
            if entry.changes { changes.add(time, at: entry.path, time: time) }
            guard entry.kind != .ofPage else { continue }
            if entry.kind == .page, !entry.changes {
                // It may show a change that was answered before it, whenever it began.
                let change = entry.isDivided ? changes.last(around: entry.path) : nil
                time = min(time, max(entry.span.start, change ?? .min))
            }
            fixed.append((time, entry.moment))
        }
        fixed.sort { $0 < $1 }
        for (number, place) in fixed.enumerated() { entries[place.moment].place.chapter = number + 1 }
        return entries.filter { $0.kind == .page }
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
