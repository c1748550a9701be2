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
public enum RecordingOrder {
    /// Why a recording can't be sorted.
    enum Refusal: Error {
        case notAsWritten
        case system(SystemError)
    }

    /// The entries' numbers, from 0, in that order. Does I/O.
    ///
    /// - Parameter key: of a URL, what it is sorted by: the same for all URLs of a sequence.
    /// - Throws: ``ArchiveProblem`` where an entry can't be read.
    static func order(_ archive: Archive, key: ([UInt8]) -> [UInt8]) throws(ArchiveProblem) -> [Int] {
        var order: [Int] = []
        var group: [(key: [UInt8], index: Int)] = []
        func end() {
            // Of a sequence the first comes first.
            group.sort { ($0.key == $1.key) ? $0.index < $1.index : $0.key.lexicographicallyPrecedes($1.key) }
            order += group.map(\.index)
            group.removeAll()
        }
        for index in 0..<archive.table.count {
            let exchange = try archive.exchange(index)
            if isSubrequest(exchange) {
                group.append((key(exchange.url), index))
            } else {
                end()
                order.append(index)
            }
        }
        end()
        return order
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
    ///   - key: see ``order(_:key:)``.
    /// - Throws: where it can't be sorted; then it is as it was.
    public static func sort(_ folder: String, key: ([UInt8]) -> [UInt8]) throws {
        let list = folder + "/recording.yaml"
        let source = try FileReading.contents(of: list, upTo: 1 << 30)
        var input = ArchiveInput(name: list, bytes: ArchiveBytes(source))
        input.sibling = { _ in ArchiveBytes([]) }
        let archive = try Archive.open(input)
        let order = try order(archive, key: key)
        guard order != Array(order.indices) else { return }
        let blocks = blocks(source)
        guard blocks.entries.count == order.count else { throw Refusal.notAsWritten }
        var sorted = Array(source[..<blocks.start])
        var names = RecordingNames()
        var renamed: [[UInt8]: [UInt8]] = [:]
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
                renamed[old] = rename(old, new, in: folder) ? new : old
            }
            sorted += block[..<line.lowerBound] + (renamed[old] ?? old) + block[line.upperBound...]
        }
        try replace(list, by: sorted)
        let used = Set(renamed.values)
        for old in renamed.keys where !used.contains(old) { unlink(path(old, in: folder)) }
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

    private static func path(_ name: [UInt8], in folder: String) -> String {
        folder + "/" + String(decoding: name, as: UTF8.self)
    }

    /// Gives a file a second name; false where the name is taken, or needs quotes in the list.
    private static func rename(_ old: [UInt8], _ new: [UInt8], in folder: String) -> Bool {
        guard new != old, YAMLText.scalar(new, in: .block) == new else { return false }
        return link(path(old, in: folder), path(new, in: folder)) == 0
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
