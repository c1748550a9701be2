import HTTP1Invariants
import HTTPSemantics

/// Properties of Range (RFC 9110 §14), with a slow and simple reading of it beside.
enum RangeInvariants {
    static func check(_ bytes: [UInt8]) throws {
        let size = Int(bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1)
        let value = Array(bytes.dropFirst(8))
        // Small sizes are where ranges meet.
        for size in [size, size & 0xff, 0] { try check(value, size: size) }
    }

    private static func check(_ value: [UInt8], size: Int) throws {
        let selection = value.withUnsafeBytes { ByteRangeSelection($0, size: size) }
        if let expected = Model.bytes(of: value, size: size) {
            switch selection {
            case .whole: try require(expected.count > ByteRangeSelection.maximumParts, "\(value) is ignored")
            case .unsatisfiable: try require(expected.isEmpty, "\(value) is not satisfied")
            case .satisfiable(let ranges):
                let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
                try require(sorted == expected, "\(ranges), not \(expected)")
            }
        } else {
            try require(selection == .whole, "\(value) is taken: \(selection)")
        }
        guard case .satisfiable(let ranges) = selection else { return }
        try require(1...ByteRangeSelection.maximumParts ~= ranges.count, "\(ranges.count) parts")
        try require(ranges.allSatisfy { !$0.isEmpty && $0.lowerBound >= 0 && $0.upperBound <= size }, "\(ranges)")
        try require(ranges.reduce(0) { $0 + $1.count } <= size, "more than everything")
        let text = "bytes=" + ranges.map { "\($0.lowerBound)-\($0.upperBound - 1)" }.joined(separator: ",")
        let again = Array(text.utf8).withUnsafeBytes { ByteRangeSelection($0, size: size) }
        try require(again == selection, "\(text): \(again)")
        guard ranges.count > 1,
            let plan = MultipartPlan(ranges: ranges, size: size, partType: Array("text/plain".utf8), randomBits: (1, 2))
        else { return }
        let length = plan.parts.reduce(plan.closing.count) { $0 + $1.head.count + $1.range.count }
        try require(plan.totalLength == length && plan.parts.map(\.range) == ranges, "\(plan)")
    }

    /// Range as RFC 9110 §14.1 and §14.2 describe it, without regard to the time that it takes.
    private enum Model {
        /// The bytes that are asked for as ranges in their order, joined where they touch; nil where the field is to be
        /// ignored.
        static func bytes(of value: [UInt8], size: Int) -> [Range<Int>]? {
            let prefix = Array("bytes=".utf8)
            guard value.count > prefix.count, value.prefix(6).map(\.asciiLowercased) == prefix else { return nil }
            var ranges: [Range<Int>] = []
            let elements = value.dropFirst(6).split(separator: 0x2c, omittingEmptySubsequences: false)
            let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
            guard !elements.allSatisfy({ $0.allSatisfy(isBlank) }) else { return nil }
            for (index, element) in elements.enumerated() where !element.allSatisfy(isBlank) {
                guard index > 0 || (element.first != 0x20 && element.first != 0x09) else { return nil }
                var element = element
                while let first = element.first, first == 0x20 || first == 0x09 { element = element.dropFirst() }
                while let last = element.last, last == 0x20 || last == 0x09 { element = element.dropLast() }
                let ends = element.split(separator: 0x2d, maxSplits: 1, omittingEmptySubsequences: false)
                guard ends.count == 2, !(ends[0].isEmpty && ends[1].isEmpty) else { return nil }
                guard let first = number(ends[0]), let last = number(ends[1]) else { return nil }
                if ends[0].isEmpty {
                    let start = last >= UInt128(size) ? 0 : size - Int(last)
                    if start < size { ranges.append(start..<size) }
                    continue
                }
                guard ends[1].isEmpty || isOrdered(ends[0], ends[1]) else { return nil }
                guard first < UInt128(size) else { continue }
                let end = ends[1].isEmpty || last >= UInt128(size) ? size : Int(last) + 1
                ranges.append(Int(first)..<end)
            }
            return joined(ranges)
        }

        /// A number, or one beyond all sizes for larger ones; nil where there are other bytes than digits.
        private static func number(_ digits: ArraySlice<UInt8>) -> UInt128? {
            var number: UInt128 = 0
            for digit in digits {
                guard 0x30...0x39 ~= digit else { return nil }
                number = min(number * 10 + UInt128(digit - 0x30), 1 << 100)
            }
            return number
        }

        private static func isOrdered(_ first: ArraySlice<UInt8>, _ last: ArraySlice<UInt8>) -> Bool {
            let count = max(first.count, last.count)
            func padded(_ digits: ArraySlice<UInt8>) -> [UInt8] {
                Array(repeating: 0x30, count: count - digits.count) + digits
            }
            return !padded(last).lexicographicallyPrecedes(padded(first))
        }

        private static func joined(_ ranges: [Range<Int>]) -> [Range<Int>] {
            var joined: [Range<Int>] = []
            for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
                if let last = joined.last, last.upperBound >= range.lowerBound {
                    joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
                } else {
                    joined.append(range)
                }
            }
            return joined
        }
    }
}
