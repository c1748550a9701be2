import Basics
import Crypto
import Glibc

extension RecordingOrder {
    /// Sorts the entries that were just written to a recording, which nobody else writes to. At each moment it is
    /// whole.
    ///
    /// Files get the names that they had if the entries had been written in this order, as far as these are free: one
    /// that several bodies share is named after the first of them. Does I/O.
    ///
    /// - Parameters:
    ///   - folder: the recording's.
    ///   - first: the number of the first entry that was written, from 0: those before it stay as they are, with their
    ///     files.
    ///   - spans: see ``order(_:_:spans:key:)``.
    ///   - key: likewise.
    /// - Throws: ``RecordingFailure``, ``ArchiveProblem`` or ``SystemError`` where it can't be sorted; then it is in
    ///   its old order, or in the new one with a `~` at the ends of names.
    public static func sort(
        _ folder: String, from first: Int = 0, spans: [Span] = [], key: ([UInt8]) -> [UInt8]
    ) throws {
        let path = folder + "/recording.yaml"
        let source = try FileReading.contents(of: path, upTo: 1 << 30)
        var input = ArchiveInput(name: path, bytes: ArchiveBytes(source))
        input.sibling = { _ in ArchiveBytes([]) }
        let archive = try Archive.open(input)
        let blocks = blocks(source)
        let isKnown = first == 0 || blocks.entries.count == first + spans.count
        guard blocks.entries.count == archive.table.count, isKnown else { throw RecordingFailure.otherForm }
        let root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { throw RecordingFailure.system(SystemError()) }
        defer { close(root) }
        let start = first < blocks.entries.count ? blocks.entries[first].lowerBound : source.count
        var list = SortedList(root: root, path: path, head: source[..<start])
        let sorted = blocks.entries[first...].map { source[$0] }
        let order = try order(
            archive, from: first, sorted, spans: spans, body: { list.digest(of: $0) }, key: key)
        guard order != Array(order.indices) else { return }
        var names = RecordingNames()
        var wanted: [(old: [UInt8], new: [UInt8])] = []
        var known: Set<[UInt8]> = []
        if first > 0 {
            guard let kept = RecordingWriter.files(Array(source[..<start])) else { throw RecordingFailure.otherForm }
            for name in kept.map({ Array($0.utf8) }) {
                names.take(name)
                known.insert(name)
            }
        }
        for index in order {
            let block = sorted[index]
            list.add(block)
            let exchange = try archive.exchange(first + index)
            func name(_ place: Range<Int>?, _ type: [UInt8], mark: String = "") {
                guard let place, known.insert(Array(block[place])).inserted else { return }
                let new = names.name(exchange.url, method: exchange.method, type: type, mark: mark)
                wanted.append((Array(block[place]), new))
            }
            name(SortedList.responsePlace(block), exchange.value("content-type") ?? [])
            let type = Redaction.type(exchange.requestFields)
            name(SortedList.requestPlace(block), type, mark: RecordingWriter.requestMark)
        }
        wanted.removeAll { $0.old == $0.new || !list.allows($0.new, for: $0.old) }
        // Files whose names others get stand aside meanwhile.
        let targets = Set(wanted.map(\.new))
        let aside = wanted.map(\.old).filter(targets.contains)
        if !aside.isEmpty { try list.rename(aside.map { ($0, $0 + Array("~".utf8)) }) }
        try list.rename(wanted)
    }
}

/// A list of entries that is written in another order, and whose files are renamed.
struct SortedList {
    private struct Entry {
        let block: ArraySlice<UInt8>
        /// Where its lines name files, the first one first.
        let places: [Range<Int>]
    }

    private let root: CInt
    private let path: String
    private let head: ArraySlice<UInt8>
    private var entries: [Entry] = []
    /// The names that files have now, by those that they had.
    private var names: [[UInt8]: [UInt8]] = [:]
    /// Files that requests name, in whose lines less can be written without quotes.
    private var requested: Set<[UInt8]> = []
    /// The lock of the list that was written last.
    private var lock: RecordingLock?

    /// - Parameter head: what stands before the entries that are sorted.
    init(root: CInt, path: String, head: ArraySlice<UInt8>) {
        (self.root, self.path, self.head) = (root, path, head)
    }

    mutating func add(_ block: ArraySlice<UInt8>) {
        let place = SortedList.requestPlace(block)
        entries.append(Entry(block: block, places: [place, SortedList.responsePlace(block)].compactMap(\.self)))
        if let place { requested.insert(Array(block[place])) }
    }

    /// Whether a name can be written wherever another one stands.
    func allows(_ new: [UInt8], for old: [UInt8]) -> Bool {
        YAMLText.scalar(new, in: requested.contains(old) ? .flow : .block) == new
    }

    /// Gives files other names where these are free, and writes the list. Meanwhile each file has both names.
    ///
    /// - Parameter wanted: names that files had at first, with those that they get.
    mutating func rename(_ wanted: [(old: [UInt8], new: [UInt8])]) throws {
        var (left, given): ([[UInt8]], [[UInt8]]) = ([], [])
        for (old, new) in wanted {
            let now = names[old] ?? old
            // One that stood aside goes back where it can't have the other name.
            guard let name = [new, old].first(where: { link(now, $0) }) else { continue }
            names[old] = name
            left.append(now)
            given.append(name)
        }
        var text = Array(head)
        for entry in entries {
            var written = entry.block.startIndex
            for place in entry.places {
                guard let name = names[Array(entry.block[place])] else { continue }
                text += entry.block[written..<place.lowerBound] + name
                written = place.upperBound
            }
            text += entry.block[written...]
        }
        do { try replace(by: text) } catch {
            for name in given { remove(name) }
            throw error
        }
        for name in left { remove(name) }
    }

    // MARK: Names in the list

    /// Where the last of an entry's lines names the file of its body; nil where it names none, or in quotes.
    static func responsePlace(_ block: ArraySlice<UInt8>) -> Range<Int>? {
        let mark = Array("\n  file: files/".utf8)
        guard block.last == 0x0A, let start = block.dropLast().lastIndex(of: 0x0A),
            block[start...].starts(with: mark)
        else { return nil }
        return (start + mark.count - "files/".utf8.count)..<(block.endIndex - 1)
    }

    /// Where an entry's lines name the file of the request's body, in quotes or without; nil where they name none.
    static func requestPlace(_ block: ArraySlice<UInt8>) -> Range<Int>? {
        guard let start = block.firstRange(of: "\n  request: {".utf8)?.upperBound else { return nil }
        let line = block[start...].prefix { $0 != 0x0A }
        guard line.suffix(2).elementsEqual(" }".utf8) else { return nil }
        // A member of JSON has more brackets behind it.
        let members = line.dropLast(2)
        let word = members[(members.lastIndex(of: 0x20) ?? start)...].dropFirst()
        let name = word.first == UInt8(ascii: "\"") ? word.dropFirst().dropLast() : word
        guard line[..<word.startIndex].suffix(7).elementsEqual(" file: ".utf8), name.starts(with: "files/".utf8),
            !name.contains(UInt8(ascii: "\""))
        else { return nil }
        return name.indices
    }

    // MARK: Files

    /// Nil where a folder on the way to a file is none, or a link.
    ///
    /// - Parameter mode: that of folders that are made; nil where none is to be.
    private func place(of name: [UInt8], making mode: mode_t? = nil) -> RecordingPlace? {
        guard case .place(let place) = try? RecordingPlace.find(name, in: root, making: mode) else { return nil }
        return place
    }

    /// The digest of a file's bytes; its name where it can't be read.
    func digest(of name: [UInt8]) -> [UInt8] {
        guard let place = place(of: name) else { return name }
        let descriptor = openat(place.folder, place.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return name }
        defer { close(descriptor) }
        var digest = SHA256()
        do throws(SystemError) {
            while case let bytes = try FileReading.next(of: descriptor), !bytes.isEmpty { digest.update(data: bytes) }
        } catch {
            return name
        }
        return Array(digest.finalize())
    }

    /// Removes a file, and the folders below that of all files that have become empty.
    private func remove(_ name: [UInt8]) {
        guard let place = place(of: name) else { return }
        unlinkat(place.folder, place.name, 0)
        var folder = name[...]
        while let end = folder.lastIndex(of: UInt8(ascii: "/")) {
            folder = folder[..<end]
            guard folder.contains(UInt8(ascii: "/")), let place = self.place(of: Array(folder)),
                unlinkat(place.folder, place.name, AT_REMOVEDIR) == 0
            else { return }
        }
    }

    /// Gives a file a second name, in a folder that is made if there is none; false where the name is taken.
    private func link(_ old: [UInt8], _ new: [UInt8]) -> Bool {
        var status = stat()
        guard fstat(root, &status) == 0, let from = place(of: old),
            let to = place(of: new, making: status.st_mode & 0o777)
        else { return false }
        return linkat(from.folder, from.name, to.folder, to.name, 0) == 0
    }

    private mutating func replace(by bytes: [UInt8]) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { throw RecordingFailure.system(SystemError()) }
        let scratch = path + ".recording-part"
        unlink(scratch)
        let descriptor = open(scratch, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0o7777)
        guard descriptor >= 0 else { throw RecordingFailure.system(SystemError()) }
        // A recorder that opens it as soon as it is there is refused until the sorting has ended: what it appended
        // would be lost with the next list.
        let lock = RecordingLock(descriptor)
        do throws(SystemError) { try RecordingFiles.write(bytes, to: descriptor) } catch {
            unlink(scratch)
            throw RecordingFailure.system(error)
        }
        guard Glibc.rename(scratch, path) == 0 else {
            let failure = SystemError()
            unlink(scratch)
            throw RecordingFailure.system(failure)
        }
        self.lock = lock
    }
}

/// The lock of a list, by which other recorders know that it is written; it ends with this, which closes the
/// descriptor.
private final class RecordingLock {
    private let descriptor: CInt

    init(_ descriptor: CInt) {
        self.descriptor = descriptor
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    deinit { close(descriptor) }
}
