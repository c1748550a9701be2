import Archives
import Glibc
import HTTPSemantics

/// The URLs of an archive's entries by their hashes: some 37 bytes an entry. What is found is a URL's place in the
/// table.
///
/// http and https share keys where both are at their default ports; which of them an entry has is looked at afterwards.
struct ArchiveIndex: Sendable {
    /// A hash table of chains: each URL is in one, in the order of the archive, further ones of entries behind all.
    struct Chains: Sendable {
        private var heads: [UInt32]
        private var following: [UInt32]
        private let mask: Int
        static let none = UInt32.max

        init(count: Int) {
            var size = 8
            while size < count { size *= 2 }
            mask = size - 1
            heads = Array(repeating: Chains.none, count: size)
            following = Array(repeating: Chains.none, count: count)
        }

        /// Adds a URL before those of its chain: the last one comes first.
        mutating func add(_ index: Int, _ hash: UInt64) {
            let place = Int(truncatingIfNeeded: hash) & mask
            following[index] = heads[place]
            heads[place] = UInt32(truncatingIfNeeded: index)
        }

        /// Calls `body` with the place of each URL that may have this hash, until it returns false.
        @inline(__always)
        func forEach(_ hash: UInt64, _ body: (Int) -> Bool) {
            var index = heads[Int(truncatingIfNeeded: hash) & mask]
            while index != Chains.none {
                guard body(Int(index)) else { return }
                index = following[Int(index)]
            }
        }
    }

    let rules: ParameterRules
    /// By host, path and the parameters that are no cache busters, whatever their order.
    let loose: Chains
    /// By host and path.
    let paths: Chains
    /// By host, path and query of images, without the digits of their sizes.
    let images: Chains?
    /// Entries with a method that changes something, in the order of the archive: they divide what GETs see.
    let changes: [UInt32]
    /// Entries whose URL differs from another one's in nothing but cache busters: a client that has had one of them gets
    /// the next one, by whichever URL it asks. Empty where there are no turns.
    private let turns: [Bool]

    /// Whether an entry is one of several that a URL with another cache buster would get in turn.
    func takesTurns(_ number: Int) -> Bool { !turns.isEmpty && turns[number] }

    /// - Parameter isQuery: whether a POST asks for something only (GraphQL); reads the entry.
    init(_ table: EntryTable, _ settings: ArchiveSettings, mode: ArchiveMatchMode, isQuery: (Int) -> Bool) {
        var rules = ParameterRules(ignored: settings.ignoredParameters)
        let count = table.urlCount
        ArchiveIndex.findRedacted(in: table, for: &rules)
        let final = rules
        self.rules = final
        var loose = Chains(count: count)
        var paths = Chains(count: count)
        var images = mode == .nearest ? Chains(count: count) : nil
        // Where it is strict, cache busters count as well, unless they are taken out.
        let isRedacted = !final.redacted.isEmpty || final.hasRedactedNames
        let hasTurns = settings.isSequence && (mode != .strict || isRedacted)
        var turns = [Bool](repeating: false, count: hasTurns ? table.count : 0)
        var entries: [UInt64: Int] = [:]
        entries.reserveCapacity(turns.count)
        table.forEachURLFromLast { place, url, pathEnd in
            let path = ArchiveIndex.pathHash(url, pathEnd: pathEnd)
            paths.add(place, path)
            let hash = ArchiveIndex.looseHash(path, url, pathEnd: pathEnd, final)
            loose.add(place, hash)
            if place < turns.count, table[place].isUsable, table[place].method == "GET" {
                // Both schemes have one hash, and neither takes turns with the other.
                let key = ArchiveIndex.isSecure(url) ? ~hash : hash
                if let other = entries.updateValue(place, forKey: key) {
                    turns[place] = true
                    turns[other] = true
                }
            }
            if images != nil, let hash = ImageSize(url, pathEnd: pathEnd)?.hash { images?.add(place, hash) }
        }
        self.loose = loose
        self.paths = paths
        self.images = images
        self.turns = turns
        changes = table.indices(ofMethods: ["POST", "PUT", "PATCH", "DELETE"]).filter { number in
            let entry = table[number]
            return entry.isUsable && !(entry.method == "POST" && entry.hasRequestBody && isQuery(number))
        }.map { UInt32($0) }
    }

    /// Finds what of the URLs' parameters was recorded as `REDACTED`.
    private static func findRedacted(in table: EntryTable, for rules: inout ParameterRules) {
        table.forEachURLFromLast { _, url, pathEnd in
            guard pathEnd < url.count else { return }
            for parameter in QueryParameters(of: url, pathEnd: pathEnd)
            where parameter.suffix(8).elementsEqual(ParameterRules.redactedValue) {
                if parameter.count > 9 { rules.redacted.insert(Array(parameter.prefix { $0 != UInt8(ascii: "=") })) }
                if parameter.count == 8 { rules.hasRedactedNames = true }
            }
        }
    }

    /// Where the part of a URL begins by which entries are found: behind `http://` and `https://`, if the port is the
    /// scheme's own.
    static func keyStart(_ url: UnsafeRawBufferPointer) -> Int {
        let start: Int
        if url.count > 8, url[4] == UInt8(ascii: "s"), url[5] == UInt8(ascii: ":") {
            start = 8
        } else if url.count > 7, url[4] == UInt8(ascii: ":") {
            start = 7
        } else {
            return 0
        }
        guard let base = url.baseAddress else { return 0 }
        let end = memchr(base + start, 0x2F, url.count - start).map { UnsafeRawPointer($0) - base } ?? url.count
        guard memchr(base + start, 0x3A, end - start) != nil else { return start }
        // A colon in brackets is an IPv6 address's.
        var isInBrackets = false
        for index in start..<end {
            switch url[index] {
            case UInt8(ascii: "["): isInBrackets = true
            case UInt8(ascii: "]"): isInBrackets = false
            case UInt8(ascii: ":") where !isInBrackets: return 0
            default: break
            }
        }
        return start
    }

    static func isSecure(_ url: UnsafeRawBufferPointer) -> Bool { url.count > 4 && url[4] == UInt8(ascii: "s") }

    static func pathHash(_ url: UnsafeRawBufferPointer, pathEnd: Int) -> UInt64 {
        URLHash.of(UnsafeRawBufferPointer(rebasing: url[keyStart(url)..<pathEnd]))
    }

    /// The same of a URL whose query is taken apart.
    static func looseHash(
        _ url: UnsafeRawBufferPointer, pathEnd: Int, _ query: SplitQuery, _ rules: ParameterRules
    ) -> UInt64 {
        let path = pathHash(url, pathEnd: pathEnd)
        var sum: UInt64 = 0
        for parameter in query.parameters where !parameter.isBuster { sum &+= rules.hashed(parameter.bytes) }
        return sum == 0 ? path : URLHash.combined(path, sum)
    }

    /// - Parameter path: the hash of host and path.
    private static func looseHash(
        _ path: UInt64, _ url: UnsafeRawBufferPointer, pathEnd: Int, _ rules: ParameterRules
    ) -> UInt64 {
        guard pathEnd < url.count else { return path }
        var sum: UInt64 = 0
        for parameter in QueryParameters(of: url, pathEnd: pathEnd) where !rules.isBuster(parameter) {
            sum &+= rules.hashed(parameter)
        }
        return sum == 0 ? path : URLHash.combined(path, sum)
    }
}

/// An image's URL without the digits of its size, and the first number of these.
struct ImageSize {
    let hash: UInt64
    /// Host, path and query with `0` for each size.
    let text: [UInt8]
    let size: Int

    private static let extensions = ["avif", "bmp", "gif", "ico", "jpeg", "jpg", "png", "svg", "webp"]
    private static let marks = [
        "width=", "height=", "size=", "dpr=", "quality=", "w_", "h_", "w=", "h=", "w-", "h-", "s=", "q=",
    ].map { Array($0.utf8) }

    /// Nil for what is no image by its extension, and for one without a size.
    init?(_ url: UnsafeRawBufferPointer, pathEnd: Int) {
        guard StaticFile.hasExtension(UnsafeRawBufferPointer(rebasing: url[..<pathEnd]), of: ImageSize.extensions)
        else {
            return nil
        }
        let bytes = UnsafeRawBufferPointer(rebasing: url[ArchiveIndex.keyStart(url)...])
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        var first: Int?
        var index = 0
        while index < bytes.count {
            guard index == 0 || !ImageSize.isWord(bytes[index - 1]) else {
                text.append(bytes[index])
                index += 1
                continue
            }
            let digits = index + ImageSize.mark(bytes, at: index)
            let end = ImageSize.endOfDigits(bytes, from: digits)
            let isPair = digits == index && end > index && end < bytes.count && bytes[end] | 0x20 == UInt8(ascii: "x")
            let pairEnd = isPair ? ImageSize.endOfDigits(bytes, from: end + 1) : end
            if isPair, pairEnd > end + 1 {
                text += Array("0x0".utf8)
                first = first ?? ImageSize.number(bytes[index..<end])
                index = pairEnd
            } else if digits > index, end > digits {
                text += bytes[index..<digits]
                text.append(UInt8(ascii: "0"))
                first = first ?? ImageSize.number(bytes[digits..<end])
                index = end
            } else {
                text.append(bytes[index])
                index += 1
            }
        }
        guard let first else { return nil }
        size = first
        self.text = text
        hash = text.withUnsafeBytes { URLHash.of($0) }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        ParameterRules.isDigit(byte) || (byte | 0x20) &- 0x61 < 26
    }

    /// The length of the mark that begins here; 0 for none.
    private static func mark(_ bytes: UnsafeRawBufferPointer, at index: Int) -> Int {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[index...])
        return marks.first { $0.withUnsafeBytes { URLText.hasPrefix(rest, $0) } }?.count ?? 0
    }

    private static func endOfDigits(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var end = start
        while end < bytes.count, ParameterRules.isDigit(bytes[end]) { end += 1 }
        return end
    }

    private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int {
        digits.prefix(9).reduce(0) { $0 * 10 + Int($1 & 15) }
    }
}

/// URLs of files that are the same whatever their query.
enum StaticFile {
    private static let extensions = [
        "avif", "bmp", "css", "eot", "gif", "ico", "jpeg", "jpg", "js", "map", "mjs", "mp3", "mp4", "ogg", "otf", "png",
        "svg", "ttf", "wasm", "webm", "webp", "woff", "woff2",
    ]

    /// - Parameter path: a URL without its query.
    static func isNamed(by path: UnsafeRawBufferPointer) -> Bool { hasExtension(path, of: extensions) }

    static func hasExtension(_ path: UnsafeRawBufferPointer, of names: [String]) -> Bool {
        guard let dot = path.lastIndex(of: UInt8(ascii: ".")), path.count - dot <= 6,
            !path[dot...].contains(UInt8(ascii: "/"))
        else { return false }
        let name = path[(dot + 1)...].map { URLText.lowercased($0) }
        return names.contains { $0.utf8.elementsEqual(name) }
    }
}
