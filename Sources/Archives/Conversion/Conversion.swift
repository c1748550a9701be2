import HTTPSemantics

/// Archives that are to become one, in the order in which they are named.
public struct Conversion: Sendable {
    private let archives: [Archive]
    private let redaction: Redaction?
    private let isKept: @Sendable (_ archive: Int, _ entry: Int) -> Bool
    private let isInterrupted: @Sendable () -> Bool

    /// - Parameters:
    ///   - redaction: what is taken out; nil for nothing.
    ///   - isKept: whether an entry is written; both numbers are from 0. The default is all.
    ///   - isInterrupted: whether writing is to end; asked before each entry and at the end. The default is false.
    public init(
        _ archives: [Archive], redaction: Redaction?,
        isKept: @escaping @Sendable (_ archive: Int, _ entry: Int) -> Bool = { _, _ in true },
        isInterrupted: @escaping @Sendable () -> Bool = { false }
    ) {
        self.archives = archives
        self.redaction = redaction
        self.isKept = isKept
        self.isInterrupted = isInterrupted
    }

    /// What was made of it.
    public struct Result: Sendable {
        /// A line for each kind of what is lost.
        public let losses: [String]
        /// What could not be decoded, by the entry's position.
        public let problems: [(position: String, problem: ArchiveProblem)]
    }

    // MARK: Pages

    /// The document's URL, in normal form: the first page's, else that of the first HTML with 200; nil for none. Does
    /// I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where an entry can't be read.
    public func document() throws(ArchiveProblem) -> ArchivePage? {
        for archive in archives {
            let pages = archive.pages + (archive.document.map { [ArchivePage(url: $0)] } ?? [])
            for page in pages {
                if let found = try entry(page.url) { return ArchivePage(url: found, title: page.title) }
            }
        }
        for archive in archives {
            for index in 0..<archive.table.count {
                let entry = archive.table[index]
                guard entry.isUsable, entry.method == "GET", entry.status == 200,
                    Conversion.isHTML(try archive.exchange(index))
                else { continue }
                return ArchivePage(url: Array(entry.url))
            }
        }
        return nil
    }

    private static func isHTML(_ exchange: RecordedExchange) -> Bool {
        guard let type = exchange.value("content-type") else { return false }
        return type.starts(withIgnoringCase: "text/html") || type.starts(withIgnoringCase: "application/xhtml+xml")
    }

    /// The URL, in normal form, of the entry that a GET of a URL ends at, behind its redirects; nil where there is
    /// none. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where an entry on the way can't be read.
    public func entry(_ url: [UInt8]) throws(ArchiveProblem) -> [UInt8]? {
        guard var wanted = ConvertedEntry.normalForm(url) else { return nil }
        for _ in 0..<20 {
            guard let (archive, index) = find(wanted) else { return nil }
            guard (300..<400).contains(archive.table[index].status),
                let location = try archive.exchange(index).value("location"),
                let base = try? TargetURI(String(decoding: wanted, as: UTF8.self)),
                let next = Conversion.target(location, base)
            else { return wanted }
            wanted = next
        }
        return nil
    }

    private static func target(_ location: [UInt8], _ base: TargetURI) -> [UInt8]? {
        ConvertedEntry.normalForm(PageLocations.resolve(location, against: [base.withBytes { Array($0) }]))
    }

    private func find(_ url: [UInt8]) -> (archive: Archive, index: Int)? {
        for archive in archives {
            for index in 0..<archive.table.count {
                let entry = archive.table[index]
                if entry.isUsable, !entry.isPartial, entry.method == "GET", entry.url.elementsEqual(url) {
                    return (archive, index)
                }
            }
            if let alias = archive.table.aliases.first(where: { $0.url == url }) { return (archive, alias.entry) }
        }
        return nil
    }

    /// The pages of all archives, each once.
    public var pages: [ArchivePage] {
        var pages: [ArchivePage] = []
        var urls: Set<[UInt8]> = []
        for archive in archives {
            let document = archive.pages.isEmpty ? archive.document.map { [ArchivePage(url: $0)] } ?? [] : archive.pages
            for page in document where urls.insert(page.url).inserted { pages.append(page) }
        }
        return pages
    }

    // MARK: Writing

    /// Writes all entries, the document's first where the kind is a page. Does I/O.
    ///
    /// - Parameters:
    ///   - path: a file that is not there yet, or a folder.
    ///   - plan: of a page, the first of its pages is the document, by its URL in normal form.
    /// - Throws: ``ConversionFailure``; then what has been written is of no use.
    public func write(
        _ kind: ArchiveKind, to path: String, _ plan: ConversionPlan
    ) throws(ConversionFailure) -> Result {
        var plan = plan
        var first: (archive: Archive, index: Int)?
        if kind.isPage, let url = plan.pages.first?.url, let found = find(url) {
            first = found
            // As it is written at the entry itself.
            if let exchange = try? found.archive.exchange(found.index) { plan.pages[0].url = exchange.url }
        }
        let writer = try kind.begin(path, redacted(plan))
        var losses = ConversionLosses(to: kind.format)
        var problems: [(position: String, problem: ArchiveProblem)] = []
        func goOn() throws(ConversionFailure) {
            if isInterrupted() { throw .writing("it was interrupted") }
        }
        func add(_ archive: Archive, _ index: Int) throws(ConversionFailure) {
            try goOn()
            var entry: ConvertedEntry
            do throws(ArchiveProblem) {
                entry = try ConvertedEntry(archive, index, redaction)
            } catch {
                throw .reading(error)
            }
            let name = archive.name.split(separator: "/").last ?? ""
            guard
                losses.keeps(
                    entry.exchange, url: entry.url, isUsable: entry.isWhole, isCut: entry.cut != nil,
                    isRepeated: entry.isRepeated, lacksRequestBody: entry.lacksRequestBody)
            else { return }
            do throws(ArchiveProblem) {
                try entry.redactBody()
            } catch {
                // It would be written with what is to be taken out of it.
                losses.countUnredactable()
                problems.append((name + archive.table.number(index), error))
                return
            }
            guard let problem = try writer.append(entry) else { return }
            problems.append((name + archive.table.number(index), problem))
        }
        if let first {
            try add(first.archive, first.index)
            // A page is nothing without its document.
            if let problem = problems.first?.problem { throw .reading(problem) }
        }
        for (number, archive) in archives.enumerated() {
            for index in 0..<archive.table.count where isKept(number, index) {
                if let first, first.archive === archive, first.index == index { continue }
                try add(archive, index)
            }
        }
        try writer.finish()
        try goOn()
        return Result(losses: losses.lines, problems: problems)
    }

    private func redacted(_ plan: ConversionPlan) -> ConversionPlan {
        guard let redaction else { return plan }
        var plan = plan
        plan.pages = plan.pages.map { page in
            // Some browsers write the URL there.
            let title = page.title.map { String(decoding: redaction.text(Array($0.utf8)), as: UTF8.self) }
            return ArchivePage(url: redaction.url(page.url), title: title)
        }
        return plan
    }
}
