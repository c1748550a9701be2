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
            guard (300..<400).contains(archives[archive].table[index].status),
                let location = try archives[archive].exchange(index).value("location"),
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

    private func find(_ url: [UInt8]) -> (archive: Int, index: Int)? {
        for (number, archive) in archives.enumerated() {
            for index in 0..<archive.table.count {
                let entry = archive.table[index]
                if entry.isUsable, !entry.isPartial, entry.method == "GET", entry.url.elementsEqual(url) {
                    return (number, index)
                }
            }
            if let alias = archive.table.aliases.first(where: { $0.url == url }) { return (number, alias.entry) }
        }
        return nil
    }

    /// Gives a plan the pages of all archives: all of a HAR's, whose entries say which they belong to, and of others
    /// one for each URL.
    public func addPages(to plan: inout ConversionPlan) {
        for (number, archive) in archives.enumerated() {
            let pages = archive.pages.isEmpty ? archive.document.map { [ArchivePage(url: $0)] } ?? [] : archive.pages
            for (index, page) in pages.enumerated() {
                if archive.format == .har {
                    plan.origins[PageOrigin(archive: number, page: index)] = plan.pages.count
                    plan.pages.append(page)
                } else if plan.openers[page.url] == nil {
                    plan.add(page)
                }
            }
        }
    }

    /// Gives a plan the document as its only page. Does I/O.
    ///
    /// - Returns: false where there is none.
    /// - Throws: ``ArchiveProblem`` where an entry can't be read.
    public func addDocument(to plan: inout ConversionPlan) throws(ArchiveProblem) -> Bool {
        guard let document = try document() else { return false }
        plan.add(document)
        return true
    }

    /// Puts the page of an entry before all others of a plan: the one of its URL, or the first that leads to it by
    /// redirects, or else one that is made of it. Does I/O.
    ///
    /// - Parameter url: what a GET of it ends at, ``entry(_:)``.
    /// - Throws: ``ArchiveProblem`` where an entry can't be read.
    public func choose(_ url: [UInt8], in plan: inout ConversionPlan) throws(ArchiveProblem) {
        let urls = plan.pages.map { ConvertedEntry.normalForm($0.url) ?? [] }
        var place = urls.firstIndex(of: url)
        let redirects = place == nil ? redirects(among: Set(urls)) : []
        for index in urls.indices where place == nil && redirects.contains(urls[index]) {
            if try entry(urls[index]) == url { place = index }
        }
        var page = place.map { plan.pages.remove(at: $0) } ?? ArchivePage(url: url)
        page.url = url
        plan.pages.insert(page, at: 0)
        if place == nil { plan.chosen = find(url).map { ($0.archive, $0.index) } }
        let last = place ?? .max
        func moved(_ other: Int) -> Int { other == place ? 0 : other < last ? other + 1 : other }
        plan.origins = plan.origins.mapValues(moved)
        plan.openers = plan.openers.mapValues(moved)
    }

    /// Those of some URLs, in normal form, that an entry redirects.
    private func redirects(among urls: Set<[UInt8]>) -> Set<[UInt8]> {
        var found: Set<[UInt8]> = []
        for archive in archives {
            for index in 0..<archive.table.count where (300..<400).contains(archive.table[index].status) {
                let url = Array(archive.table[index].url)
                if urls.contains(url) { found.insert(url) }
            }
        }
        return found
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
        var first: (archive: Int, index: Int)?
        if kind.isPage, let url = plan.pages.first?.url, let found = find(url) {
            first = found
            // As it is written at the entry itself.
            if let exchange = try? archives[found.archive].exchange(found.index) { plan.pages[0].url = exchange.url }
        }
        let writer = try kind.begin(path, redacted(plan))
        var losses = ConversionLosses(to: kind.format)
        var problems: [(position: String, problem: ArchiveProblem)] = []
        func goOn() throws(ConversionFailure) {
            if isInterrupted() { throw .writing("it was interrupted") }
        }
        func add(_ number: Int, _ index: Int) throws(ConversionFailure) {
            try goOn()
            let archive = archives[number]
            var entry: ConvertedEntry
            do throws(ArchiveProblem) {
                entry = try ConvertedEntry(archive, index, redaction)
            } catch {
                throw .reading(error)
            }
            entry.page = entry.exchange.page.flatMap { plan.origins[PageOrigin(archive: number, page: $0)] }
            if let chosen = plan.chosen, chosen == (number, index) { entry.page = 0 }
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
                if let first, first == (number, index) { continue }
                try add(number, index)
            }
        }
        try writer.finish()
        try goOn()
        return Result(losses: losses.lines, problems: problems)
    }

    private func redacted(_ plan: ConversionPlan) -> ConversionPlan {
        guard let redaction else { return plan }
        var plan = plan
        plan.openers = Dictionary(plan.openers.map { (redaction.url($0), $1) }, uniquingKeysWith: min)
        plan.pages = plan.pages.map { page in
            var page = page
            page.url = redaction.url(page.url)
            // Some browsers write the URL there.
            page.title = page.title.map { String(decoding: redaction.text(Array($0.utf8)), as: UTF8.self) }
            return page
        }
        return plan
    }
}
