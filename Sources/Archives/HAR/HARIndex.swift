import HTTPSemantics

/// Reads the index of a HAR: its entries in their order, and its pages.
struct HARIndex: ~Copyable {
    let input: ArchiveInput
    let source: ArchiveBytes
    let files: HARFiles
    var scanner: JSONScanner
    var reader: HAREntryReader
    var table = EntryTable()
    private var hasEntries = false
    private var pages: [Page] = []
    /// Of each page's name the first entry, and the first that is a document.
    var entriesOfPages: [[UInt8]: (first: Int, document: Int?)] = [:]
    var warnings: [ArchiveProblem] = []
    var furtherWarnings = 0
    var progress = 0
    /// Whether an entry is being read: what is warned of is one of it.
    var isInEntry = false
    /// More than these are counted only.
    static let warningLimit = 1000

    private struct Page {
        var name: [UInt8] = []
        var title: [UInt8] = []
        var time: Int64?
    }

    /// - Parameters:
    ///   - source: the text of the HAR: of the file, or of one inside of its zip.
    init(_ input: ArchiveInput, _ source: ArchiveBytes, _ files: HARFiles) {
        self.input = input
        self.source = source
        self.files = files
        scanner = JSONScanner(source, room: HARIndex.room(input.limits))
        reader = HAREntryReader(isWhole: false, limits: input.limits)
    }

    /// Strings up to this many bytes are needed whole.
    static func room(_ limits: ArchiveLimits) -> Int {
        min(max(limits.targetBytes, limits.headerBytes, 1 << 18), 1 << 24)
    }

    /// Reads all.
    ///
    /// - Returns: which of the pages of `contents` has which name.
    /// - Throws: ``ArchiveProblem`` where it is no HAR, or a damaged one.
    mutating func read(into contents: inout ArchiveContents) throws(ArchiveProblem) -> HARPages {
        do throws(ArchiveProblem) {
            try readLog()
            guard hasEntries else {
                throw .error("this is no HAR: it has no list of entries (log.entries)", at: 0)
            }
            guard table.count > 0 || input.mayBeEmpty else { throw .error("it has no entries", at: 0) }
        } catch {
            throw try HARIndex.placed([error], source).first ?? error
        }
        contents.table = table
        for warning in try HARIndex.placed(warnings, source) { contents.warn(warning) }
        contents.warnOfMore(furtherWarnings)
        var names = HARPages()
        for page in pages {
            guard let url = url(of: page) else { continue }
            let title = page.title.isEmpty ? nil : String(decoding: page.title, as: UTF8.self)
            names.add(page.name, contents.pages.count)
            var found = ArchivePage(url: url, title: title)
            found.time = page.time
            contents.pages.append(found)
        }
        contents.document = contents.pages.first?.url
        input.progress(source.count)
        return names
    }

    /// Problems with line and column in place of their offset.
    static func placed(_ problems: [ArchiveProblem], _ source: ArchiveBytes) throws(ArchiveProblem) -> [ArchiveProblem]
    {
        var places = TextPlaces(source)
        var problems = problems.sorted { ($0.offset ?? 0) < ($1.offset ?? 0) }
        for index in problems.indices {
            guard let offset = problems[index].offset else { continue }
            problems[index].place = try places.place(of: offset)
        }
        return problems
    }

    /// Where a page is opened: at its first document, else at its first entry.
    private func url(of page: Page) -> [UInt8]? {
        guard let entries = entriesOfPages[page.name] else { return nil }
        let url = Array(table[entries.document ?? entries.first].url)
        return url.isEmpty ? nil : url
    }

    private mutating func readLog() throws(ArchiveProblem) {
        do throws(JSONError) {
            try scanner.beginning()
            try readRoot()
            guard try !isAtEnd() else { return }
            isInEntry = false
            warn("what stands behind the end is passed over", at: scanner.offset)
        } catch {
            try tear(error)
        }
    }

    /// Whether nothing stands behind the HAR; what does may be anything.
    private mutating func isAtEnd() throws(JSONError) -> Bool {
        do throws(JSONError) {
            return try scanner.isAtEnd()
        } catch {
            guard error.kind == .syntax else { throw error }
            return false
        }
    }

    /// An error is one, but for an end that comes too soon behind an entry that is whole.
    private mutating func tear(_ error: JSONError) throws(ArchiveProblem) {
        var isTorn = error.kind == .end
        if error.kind == .syntax { isTorn = try isNothing(from: error.offset) }
        guard isTorn else {
            throw .error((error.kind == .syntax ? "not JSON: " : "") + error.message, at: error.offset)
        }
        guard table.count > 0 else {
            throw .error("the file ends too soon, and has no entry that is complete", at: error.offset)
        }
        isInEntry = false
        warn("the file ends too soon: entry \(table.count) is its last complete one", at: error.offset)
    }

    /// Whether from an offset on there are but bytes of value 0, as file systems leave them behind a crash.
    private func isNothing(from offset: Int) throws(ArchiveProblem) -> Bool {
        var offset = offset
        while offset < source.count {
            let bytes = try source.read(at: offset, upTo: 1 << 16)
            guard !bytes.isEmpty, bytes.allSatisfy({ $0 == 0 }) else { return false }
            offset += bytes.count
        }
        return offset > source.count &- 1 && source.count > 0
    }

    // MARK: Levels

    private mutating func readRoot() throws(JSONError) {
        guard try scanner.enterObject() else { return try scanner.skipValue() }
        while let name = try scanner.nextMember() {
            if name.equals("log") {
                hasEntries = false
                if try scanner.enterObject() {
                    try readMembers()
                } else {
                    try scanner.skipValue()
                }
            } else {
                try scanner.skipValue()
            }
        }
    }

    private mutating func readMembers() throws(JSONError) {
        while let name = try scanner.nextMember() {
            if name.equals("entries") {
                table = EntryTable()
                entriesOfPages = [:]
                (warnings, furtherWarnings) = ([], 0)
                hasEntries = try scanner.enterArray()
                guard hasEntries else {
                    try scanner.skipValue()
                    continue
                }
                isInEntry = true
                while try scanner.nextElement() { try readEntry() }
                isInEntry = false
            } else if name.equals("pages") {
                try readPages()
            } else {
                try scanner.skipValue()
            }
        }
    }

    private mutating func readPages() throws(JSONError) {
        pages = []
        guard try scanner.enterArray() else { return try scanner.skipValue() }
        while try scanner.nextElement() {
            guard pages.count < 10_000, try scanner.enterObject() else {
                try scanner.skipValue()
                continue
            }
            var page = Page()
            while let name = try scanner.nextMember() {
                if name.equals("id") {
                    page.name = try scanner.string().map { Array($0.prefix(HARPages.nameBytes)) } ?? []
                } else if name.equals("startedDateTime") {
                    page.time = try scanner.string().flatMap { HARTime.milliseconds($0) }
                } else if name.equals("title") {
                    page.title = try scanner.string().map { Array($0.prefix(4096)) } ?? []
                } else {
                    try scanner.skipValue()
                }
            }
            pages.append(page)
        }
    }
}

/// Which of an archive's pages has which `id` in the HAR.
struct HARPages: Sendable {
    /// Bytes of an `id` that count.
    static let nameBytes = 256
    private var numbers: [[UInt8]: Int] = [:]

    /// Adds a page; of several of one name the first counts.
    mutating func add(_ name: [UInt8], _ number: Int) {
        if numbers[name] == nil { numbers[name] = number }
    }

    subscript(name: [UInt8]) -> Int? { numbers[name] }
}
