import HTTPSemantics

/// Writes URLs in place of `cid:` (RFC 2392), and `shadowrootmode` in place of Chromium's `shadowmode`, piece by piece.
struct ContentIDRewriter {
    /// The most bytes of a start tag of `template` that is looked into.
    private static let tagLimit = 16_384

    private let ids: ContentIDs
    /// The URL that stands for an identifier.
    private let url: @Sendable ([UInt8]) -> [UInt8]
    private let isHTML: Bool
    /// The most bytes of a `cid:` that may be of a part.
    private let tokenLimit: Int
    /// What can't be told yet, and what there was no room for.
    private var held: [UInt8] = []
    /// The byte before what comes next.
    private var previous: UInt8 = 0x20
    /// Whether anything was written otherwise.
    private(set) var hasChanged = false
    /// Whether a `cid:` that is too long for any part goes on.
    private var isSkipping = false
    /// Up to where in the bytes at hand start tags of `template` have been looked into.
    private var lookedInto = 0
    /// The `cid:` that no part has, up to a hundred different ones.
    private(set) var unresolved: Set<[UInt8]> = []

    init(_ ids: ContentIDs, isHTML: Bool, url: @escaping @Sendable ([UInt8]) -> [UInt8]) {
        self.ids = ids
        self.url = url
        self.isHTML = isHTML
        tokenLimit = ids.longest * 3 + 1024
    }

    /// Takes the next bytes; what a token at their end may go on with is held back until more come.
    ///
    /// - Parameter room: how much is written: what is written in place of a few bytes may be thousands. What follows is
    ///   held back; one token may go beyond.
    /// - Returns: whether all was written that can be told.
    mutating func rewrite(_ bytes: [UInt8], isLast: Bool, room: Int = .max, into output: inout [UInt8]) -> Bool {
        let (limit, isEndless) = output.count.addingReportingOverflow(room)
        var isWhole = true
        let text = held.isEmpty ? bytes : held + bytes
        held = []
        text.withUnsafeBytes { text in
            var start = 0
            var index = 0
            while index < text.count {
                if isSkipping {
                    isSkipping = !ContentIDRewriter.endsToken(text[index])
                    if isSkipping {
                        index += 1
                        continue
                    }
                }
                index = ContentIDRewriter.nextBeginning(text, from: index)
                guard index < text.count else { break }
                let byte = text[index]
                let before = index > 0 ? text[index - 1] : previous
                let found: Found
                if byte | 0x20 == 0x63 {
                    found = cid(text, at: index, before, isLast)
                } else if byte == 0x3C, isHTML, index >= lookedInto {
                    found = template(text, at: index, isLast)
                } else {
                    index += 1
                    continue
                }
                switch found {
                case .nothing: index += 1
                case .other(let end): index = end
                case .unfinished:
                    output.append(contentsOf: text.rebased(start..<index))
                    return hold(text, from: index)
                case .replacement(let replacement, let range):
                    hasChanged = true
                    output.append(contentsOf: text.rebased(start..<range.lowerBound))
                    output.append(contentsOf: replacement)
                    start = range.upperBound
                    index = start
                    guard isEndless || output.count < limit || index == text.count else {
                        isWhole = false
                        return hold(text, from: index)
                    }
                }
            }
            output.append(contentsOf: text.rebased(start..<text.count))
            hold(text, from: text.count)
        }
        return isWhole
    }

    /// Holds back what stands from an offset on.
    private mutating func hold(_ text: UnsafeRawBufferPointer, from index: Int) {
        held = Array(text.rebased(index..<text.count))
        if index > 0 { previous = text[index - 1] }
        lookedInto = max(0, lookedInto - index)
    }

    /// The next place where the first two bytes are those of `cid:` or `<template`, or the first one is the last; else
    /// the end.
    private static func nextBeginning(_ text: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start
        while text.count &- index > 8 {
            let found = beginnings(
                text.loadUnaligned(fromByteOffset: index, as: UInt64.self),
                text.loadUnaligned(fromByteOffset: index &+ 1, as: UInt64.self))
            guard found == 0 else { return index &+ found.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < text.count {
            let byte = text[index]
            if byte | 0x20 == 0x63 || byte == 0x3C {
                guard index + 1 < text.count else { return index }
                if text[index + 1] | 0x20 == (byte == 0x3C ? 0x74 : 0x69) { return index }
            }
            index += 1
        }
        return index
    }

    /// The highest bit of each of eight bytes that is the first one of `cid:` or `<template`, with the second one
    /// behind it; in the order of memory on a little-endian machine.
    ///
    /// - Parameter next: the eight bytes that are one place further.
    @inline(__always)
    private static func beginnings(_ bytes: UInt64, _ next: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let rest = ones &* 0x7F
        @inline(__always)
        func areZero(_ bytes: UInt64) -> UInt64 { ~((bytes & rest) &+ rest | bytes | rest) }
        let small = next | ones &* 0x20
        let schemes = ((bytes | ones &* 0x20) ^ ones &* 0x63) | (small ^ ones &* 0x69)
        let tags = (bytes ^ ones &* 0x3C) | (small ^ ones &* 0x74)
        return areZero(schemes) | areZero(tags)
    }

    private enum Found {
        case nothing, unfinished
        /// A token up to here that stays.
        case other(Int)
        case replacement([UInt8], Range<Int>)
    }

    private mutating func cid(_ text: UnsafeRawBufferPointer, at index: Int, _ before: UInt8, _ isLast: Bool) -> Found {
        let scheme: StaticString = "cid:"
        for offset in 0..<4 {
            guard index + offset < text.count else { return isLast ? .nothing : .unfinished }
            let byte = text[index + offset]
            guard byte == scheme.utf8Start[offset] || byte | 0x20 == scheme.utf8Start[offset] && offset < 3 else {
                return .nothing
            }
        }
        guard !before.isMember(of: .alphanumeric), before != 0x2B, before != 0x2D, before != 0x2E else {
            return .nothing
        }
        let start = index + 4
        var end = start
        while end < text.count, end - start <= tokenLimit, !ContentIDRewriter.endsToken(text[end]) { end += 1 }
        guard end - start <= tokenLimit else {
            isSkipping = true
            return .other(end)
        }
        guard end < text.count || isLast else { return .unfinished }
        let written = Array(text.rebased(start..<end))
        if let id = ids.identifier(written) { return .replacement(url(id), index..<end) }
        if let hash = written.firstIndex(of: 0x23), let id = ids.identifier(Array(written[..<hash])) {
            return .replacement(url(id), index..<start + hash)
        }
        if !written.isEmpty, unresolved.count < 100 { unresolved.insert(written) }
        return .other(end)
    }

    private static func endsToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x22, 0x27, 0x60, 0x20, 0x09, 0x0A, 0x0C, 0x0D, 0x29, 0x3C, 0x3E: true
        default: false
        }
    }

    /// Finds `shadowmode` in a start tag of `template`.
    private mutating func template(_ text: UnsafeRawBufferPointer, at index: Int, _ isLast: Bool) -> Found {
        let name: StaticString = "<template"
        for offset in 0..<9 {
            guard index + offset < text.count else { return isLast ? .nothing : .unfinished }
            guard text[index + offset].asciiLowercased == name.utf8Start[offset] else { return .nothing }
        }
        var quote: UInt8?
        var attribute: Int?
        var hasMode = false
        var end = index + 9
        while end < text.count, end - index < ContentIDRewriter.tagLimit {
            let byte = text[end]
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == 0x22 || byte == 0x27 {
                quote = byte
            } else if byte == 0x3E {
                break
            } else if ContentIDRewriter.isBlank(text[end - 1]) {
                if ContentIDRewriter.isAttribute(text, at: end, "shadowrootmode") { hasMode = true }
                if attribute == nil, ContentIDRewriter.isAttribute(text, at: end, "shadowmode") { attribute = end }
            }
            end += 1
        }
        let isLong = end - index >= ContentIDRewriter.tagLimit
        guard isLong || end < text.count || isLast else { return .unfinished }
        lookedInto = end
        guard !isLong, end < text.count, !hasMode, let attribute else { return .nothing }
        return .replacement(Array("shadowrootmode".utf8), attribute..<attribute + 10)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x2F || byte == 0x22 || byte == 0x27 || (0x09...0x0D).contains(byte)
    }

    /// Whether an attribute of this name with a value stands at an offset.
    private static func isAttribute(_ text: UnsafeRawBufferPointer, at index: Int, _ name: StaticString) -> Bool {
        var index = index
        for offset in 0..<name.utf8CodeUnitCount {
            guard index < text.count, text[index].asciiLowercased == name.utf8Start[offset] else { return false }
            index += 1
        }
        while index < text.count, text[index] == 0x20 || (0x09...0x0D).contains(text[index]) { index += 1 }
        return index < text.count && text[index] == 0x3D
    }
}
