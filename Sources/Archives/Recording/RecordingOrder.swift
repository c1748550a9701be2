import HTTPSemantics

/// The order of a recording's entries: the same for two recordings of a site that has not changed.
///
/// Entries are appended in the order in which responses end, and a browser asks for many things at once. What scripts and
/// documents ask for by GET and HEAD between two navigations, or other methods, is therefore put into the order of
/// its URLs. Each such request tells itself by `Sec-Fetch-Mode` (https://www.w3.org/TR/fetch-metadata/); what has none stays
/// where it is, as of programs that ask for one thing after the other. What is asked for more than once keeps its order, so
/// a recording answers as it did before.
public enum RecordingOrder {
    /// The entries' numbers, from 0, in that order. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where an entry can't be read.
    public static func order(_ archive: Archive) throws(ArchiveProblem) -> [Int] {
        var order: [Int] = []
        var group: [(url: [UInt8], index: Int)] = []
        func end() {
            // Of a URL the first comes first.
            group.sort { ($0.url == $1.url) ? $0.index < $1.index : $0.url.lexicographicallyPrecedes($1.url) }
            order += group.map(\.index)
            group.removeAll()
        }
        for index in 0..<archive.table.count {
            let exchange = try archive.exchange(index)
            if isSubrequest(exchange) {
                group.append((exchange.url, index))
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

    /// Writes a recording's entries into another one, in an order.
    ///
    /// - Throws: ``RecordingFailure``.
    public mutating func append(_ archive: Archive, in order: [Int]) throws(RecordingFailure) {
        for index in order {
            let exchange: RecordedExchange
            do throws(ArchiveProblem) { exchange = try archive.exchange(index) } catch { throw .archive(error) }
            try append(exchange) { () throws(ArchiveProblem) in try archive.openBody(index) }
        }
    }
}
