import Archives
import Browser
import HTTPSemantics
import NIOCore

/// Which of what was recorded belongs to the saved page.
struct SavedEntries: Sendable {
    /// An entry of the recording that is written with another one's response, since the format has no redirects.
    struct Followed: Sendable {
        let url: [UInt8]
        let index: Int
    }

    let captured: SaveProxies.Captured
    /// Numbers of kept entries of the recording.
    private(set) var kept: Set<Int> = []
    /// Redirects of a page whose format has none.
    private(set) var followed: [Followed] = []
    /// Whether a document names favicon.ico.
    let namesIcon: Bool
    /// Whether all that was recorded is written.
    let keepsAll: Bool

    private let offset: Int

    /// - Parameters:
    ///   - asked: what the static copy has asked for.
    ///   - isPage: whether the format has no redirects.
    init(
        _ captured: SaveProxies.Captured, _ result: PageCapture.Result, asked: [PageRequest], keepsAll: Bool,
        isPage: Bool
    ) {
        self.captured = captured
        self.keepsAll = keepsAll
        offset = captured.archives.count - 1
        namesIcon = result.page.documents.contains { SavedEntries.contains($0.markup, "favicon.ico") }
        guard let recorded = captured.recorded else { return }
        let table = recorded.table
        let documents = Set(result.page.documents.compactMap { SavedURL.normalForm(Array($0.url.utf8)) })
        let main = SavedURL.normalForm(Array(result.load.url.utf8))
        let isStatic = !documents.isEmpty
        // Of a document that is not frozen, as a picture is, that is what it has asked for itself; not what led to it,
        // nor the icon, which the browser asks for.
        let requested = Set(
            result.requests.filter { $0.kind != "Document" || !(300..<400).contains($0.status ?? 200) }
                .filter { !$0.url.hasSuffix("/favicon.ico") }
                .compactMap { SavedURL.normalForm(Array($0.url.utf8)) })
        let shown = Set(
            asked.filter { !SavedEntries.isOwnIcon($0) }.compactMap { SavedURL.normalForm(Array($0.url.utf8)) })
        for index in 0..<table.count {
            let entry = table[index]
            let url = Array(entry.url)
            let isIcon = url.suffix(12).elementsEqual("/favicon.ico".utf8) && !namesIcon && !shown.contains(url)
            if isIcon, !keepsAll { continue }
            if documents.contains(url), entry.method == "GET" { continue }
            let isNew = index >= captured.recordedBefore && (shown.contains(url) || entry.status < 400)
            let isOwn = url == main || requested.contains(url)
            if keepsAll || isStatic && (captured.answered.contains(index) || isNew) || !isStatic && isOwn {
                kept.insert(index)
            }
        }
        guard isPage else {
            // Who asks for the page as it was asked for is led to it.
            guard isStatic, let main else { return }
            for index in SavedEntries.redirects(to: main, recorded) where !documents.contains(Array(table[index].url)) {
                kept.insert(index)
            }
            return
        }
        // The first response to a GET of each URL.
        var firsts: [[UInt8]: Int] = [:]
        for index in 0..<table.count where table[index].isUsable && table[index].method == "GET" {
            let url = Array(table[index].url)
            if firsts[url] == nil { firsts[url] = index }
        }
        for index in kept.sorted() where SavedEntries.isRedirect(index, recorded) {
            guard let end = end(of: index, recorded, firsts) else { continue }
            followed.append(Followed(url: Array(table[index].url), index: end))
        }
    }

    /// Whether an entry is written: of an archive of those that were captured, by its number.
    func isKept(_ archive: Int, _ index: Int) -> Bool { archive != offset || kept.contains(index) }

    /// Error pages that are written, each URL once: a format without statuses gives them back with 200.
    var errors: [(url: String, status: Int)] {
        var seen: Set<[UInt8]> = []
        var found: [(url: String, status: Int)] = []
        for (number, archive) in captured.archives.enumerated() {
            for index in 0..<archive.table.count where isKept(number, index) {
                let entry = archive.table[index]
                guard entry.isUsable, entry.method == "GET", seen.insert(Array(entry.url)).inserted, entry.status >= 400
                else { continue }
                let url = String(decoding: entry.url, as: UTF8.self)
                // The browser asks for one by itself.
                guard namesIcon || keepsAll || !url.hasSuffix("/favicon.ico") else { continue }
                found.append((url, entry.status))
            }
        }
        return found
    }

    /// The entries that redirect to a URL, at once or by way of others.
    private static func redirects(to url: [UInt8], _ recorded: Archive) -> [Int] {
        let table = recorded.table
        var found: [Int] = []
        // Those that lead to each URL.
        var sources: [[UInt8]: [Int]] = [:]
        for index in 0..<table.count where isRedirect(index, recorded) {
            if let target = target(of: index, recorded) { sources[target, default: []].append(index) }
        }
        var urls = [url]
        while let url = urls.popLast() {
            for index in sources.removeValue(forKey: url) ?? [] where !table[index].url.elementsEqual(url) {
                found.append(index)
                urls.append(Array(table[index].url))
            }
        }
        return found
    }

    private static func isRedirect(_ index: Int, _ recorded: Archive) -> Bool {
        let entry = recorded.table[index]
        return entry.method == "GET" && entry.isUsable && (300..<400).contains(entry.status)
    }

    /// The URL that a redirect leads to.
    private static func target(of index: Int, _ recorded: Archive) -> [UInt8]? {
        guard let location = try? recorded.exchange(index).value("location"),
            let base = try? TargetURI(absolute: ByteBuffer(bytes: Array(recorded.table[index].url))),
            let target = location.withUnsafeBytes({ URIReference.resolve($0, against: base) })
        else { return nil }
        return target.withBytes { Array($0) }
    }

    /// The entry that a redirect leads to in the end.
    private func end(of index: Int, _ recorded: Archive, _ firsts: [[UInt8]: Int]) -> Int? {
        var index = index
        for _ in 0..<20 {
            guard (300..<400).contains(recorded.table[index].status) else { return index }
            guard let url = SavedEntries.target(of: index, recorded), let next = firsts[url], next != index
            else { return nil }
            index = next
        }
        return nil
    }

    /// Whether the browser may have asked for an icon by itself, as it does when it likes: for nothing that is shown.
    private static func isOwnIcon(_ request: PageRequest) -> Bool {
        request.kind == "Other" && request.url.hasSuffix("/favicon.ico")
    }

    private static func contains(_ bytes: [UInt8], _ text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            var rest = bytes[...]
            while let start = rest.firstIndex(of: text[0]) {
                rest = rest[start...]
                if rest.starts(with: text) { return true }
                rest = rest.dropFirst()
            }
            return false
        }
    }
}
