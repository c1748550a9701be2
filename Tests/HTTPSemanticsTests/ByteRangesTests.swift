import ProxyTestKit
import Testing

@testable import HTTPSemantics

@Suite("Byte ranges")
struct ByteRangesTests {
    static func select(_ value: String, size: Int) -> ByteRangeSelection {
        withBytes(value) { ByteRangeSelection($0, size: size) }
    }

    @Test(
        "Ranges that can be satisfied",
        arguments: [
            ("bytes=0-499", 10000, [0..<500]), ("bytes=500-999", 10000, [500..<1000]),
            ("bytes=-500", 10000, [9500..<10000]), ("bytes=9500-", 10000, [9500..<10000]),
            ("bytes=0-0,-1", 10000, [0..<1, 9999..<10000]), ("bytes= 0-1", 100, nil),
            ("bytes=0-0, 500-599 ,-1", 10000, [0..<1, 500..<600, 9999..<10000]),
            ("bytes=500-600,601-999", 10000, [500..<1000]), ("bytes=500-700,601-999", 10000, [500..<1000]),
            ("BYTES=0-1", 10, [0..<2]), ("bytes=0-", 10, [0..<10]), ("bytes=9-9", 10, [9..<10]),
            ("bytes=5-100", 10, [5..<10]), ("bytes=-100", 10, [0..<10]), ("bytes=-10", 10, [0..<10]),
            ("bytes=0-0,100-200", 10, [0..<1]), ("bytes=8-9,0-1", 10, [8..<10, 0..<2]),
            ("bytes=8-9,0-1,1-3,4-4", 20, [8..<10, 0..<5]), ("bytes=4-5,0-1,2-3", 20, [0..<6]),
            ("bytes=00000000000000000000000000001-1", 10, [1..<2]),
            ("bytes=0-18446744073709551616", 10, [0..<10]), ("bytes=-18446744073709551616", 10, [0..<10]),
            ("bytes=0-9223372036854775807", 10, [0..<10]),
            ("bytes=5368709119-", 5_368_709_120, [5_368_709_119..<5_368_709_120]),
            ("bytes=0-9223372036854775807", Int.max, [0..<Int.max]),
            // Empty elements (RFC 9110 §5.6.1.2).
            ("bytes=0-0,", 10, [0..<1]), ("bytes=,0-0", 10, [0..<1]), ("bytes=, 0-0", 10, [0..<1]),
            ("bytes=0-0, ,2-2", 10, [0..<1, 2..<3]), ("bytes=,,0-0,\t,,4-4 , ", 10, [0..<1, 4..<5]),
        ] as [(String, Int, [Range<Int>]?)])
    func satisfiable(value: String, size: Int, expected: [Range<Int>]?) {
        #expect(Self.select(value, size: size) == expected.map { .satisfiable($0) } ?? .whole)
    }

    @Test(
        "Ranges behind the end",
        arguments: [
            ("bytes=10-", 10), ("bytes=10-20", 10), ("bytes=-0", 10), ("bytes=100-200,300-", 10), ("bytes=0-", 0),
            ("bytes=0-0", 0), ("bytes=-1", 0), ("bytes=9223372036854775807-", 10),
            ("bytes=18446744073709551616-18446744073709551617", 10), ("bytes=9223372036854775807-", Int.max),
            ("bytes=00018446744073709551616-18446744073709551616", 10),
        ])
    func unsatisfiable(value: String, size: Int) {
        #expect(Self.select(value, size: size) == .unsatisfiable)
    }

    @Test(
        "Malformed fields are ignored",
        arguments: [
            "", "bytes", "bytes=", "bytes=-", "bytes=--1", "bytes=5-4", "bytes=0-1,5-4", "bytes=a-b", "bytes=0-b",
            "bytes=1", "bytes = 0-1", "bytes =0-1", "bytes=0 -1", "bytes=0- 1", "bytes=0-1-2", "bytes=+1-2",
            "bytes=0x0-1", "items=0-1", "bytess=0-1", "bytes:0-1", "bytes=0-1;2-3", "bytes=\"0-1\"", "bytes=,",
            "bytes= ", "bytes=, ,\t", "bytes=,a", "bytes=0-0,,-", "bytes=\u{FF10}-1", "bytes=0-1\0", "bytes=--", "=0-1",
            "bytes=-1-", "none", "bytes=18446744073709551616-18446744073709551615",
            "bytes=0-0,100000000000000000000-99999999999999999999",
        ])
    func ignored(value: String) {
        #expect(Self.select(value, size: 10) == .whole)
    }

    @Test("Only GET, and only one field")
    func methodAndCount() {
        let range = fields("Range: bytes=0-0")
        #expect(ByteRangeSelection(method: .get, fields: range, size: 10) == .satisfiable([0..<1]))
        for method in [Method.head, .post, .put, .options, .other] {
            #expect(ByteRangeSelection(method: method, fields: range, size: 10) == .whole)
        }
        #expect(ByteRangeSelection(method: .get, fields: fields(), size: 10) == .whole)
        let twice = fields("Range: bytes=0-0", "range: bytes=0-0")
        #expect(ByteRangeSelection(method: .get, fields: twice, size: 10) == .whole)
    }

    @Test("Ten thousand ranges that touch become one")
    func touching() {
        let value = "bytes=" + (0..<10000).map { "\($0)-\($0)" }.joined(separator: ",")
        #expect(Self.select(value, size: 1_000_000) == .satisfiable([0..<10000]))
        let backwards = "bytes=" + (0..<10000).reversed().map { "\($0)-\($0)" }.joined(separator: ",")
        #expect(Self.select(backwards, size: 1_000_000) == .satisfiable([0..<10000]))
    }

    @Test("A hundred times the whole is the whole once")
    func overlapping() {
        let value = "bytes=" + Array(repeating: "0-", count: 100).joined(separator: ",")
        #expect(Self.select(value, size: 500) == .satisfiable([0..<500]))
    }

    @Test("At most 32 parts, counted after joining")
    func parts() {
        func apart(_ count: Int) -> String {
            "bytes=" + (0..<count).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",")
        }
        #expect(Self.select(apart(32), size: 1000) == .satisfiable((0..<32).map { $0 * 2..<$0 * 2 + 1 }))
        #expect(Self.select(apart(33), size: 1000) == .whole)
        #expect(Self.select(apart(10000), size: 100_000) == .whole)
        #expect(Self.select(apart(10000) + ",0-", size: 100_000) == .satisfiable([0..<100_000]))
    }

    @Test("Random sets give ranges that are apart, inside, and cover what was asked")
    func randomSets() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<500 {
            let size = Int.random(in: 1...60, using: &generator)
            var asked = Set<Int>()
            var specs: [String] = []
            for _ in 0..<Int.random(in: 1...12, using: &generator) {
                let first = Int.random(in: 0...70, using: &generator)
                let last = first + Int.random(in: 0...9, using: &generator)
                specs.append("\(first)-\(last)")
                asked.formUnion((first...last).filter { $0 < size })
            }
            switch Self.select("bytes=" + specs.joined(separator: ","), size: size) {
            case .satisfiable(let ranges):
                #expect(ranges.allSatisfy { !$0.isEmpty && $0.lowerBound >= 0 && $0.upperBound <= size })
                #expect(Set(ranges.joined()) == asked)
                #expect(ranges.map(\.count).reduce(0, +) == asked.count)
            case .unsatisfiable: #expect(asked.isEmpty)
            case .whole: Issue.record("\(specs) was ignored")
            }
        }
    }

    @Test(
        "60 kB of ranges cost no more than their length",
        arguments: ["0-,", "-1,", "9-9,1-1,", "-,", "99999999999,", ","])
    func longFields(unit: String) {
        let ratio = growth(from: 1024) { size in
            let bytes = Array(("bytes=" + String(repeating: unit, count: size) + "0-0").utf8)
            bytes.withUnsafeBytes { _ = ByteRangeSelection($0, size: 1000) }
        }
        #expect(ratio < 90)
    }
}
