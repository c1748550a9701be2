import HTTPSemantics
import Testing

@Suite("Quantities with units")
struct QuantityTests {
    @Test(
        "Durations",
        arguments: [
            ("0", 0), ("0s", 0), ("0.0", 0), ("250ms", 250_000_000), ("1.5s", 1_500_000_000), ("2m", 120_000_000_000),
            ("2min", 120_000_000_000), ("1h", 3_600_000_000_000), ("1d", 86_400_000_000_000), ("10 s", 10_000_000_000),
            ("7ns", 7), ("7us", 7000), ("7µs", 7000), ("0.001ms", 1000), ("0.0000000019s", 1), ("0.1s", 100_000_000),
            ("1.00000000000000000000000000000001s", 1_000_000_000), ("0.999999999999999d", 86_399_999_999_999),
            ("9223372036854775807ns", .max), ("9223372036.854775807s", .max), ("007s", 7_000_000_000),
        ] as [(String, Int64)])
    func durations(value: String, expected: Int64) throws {
        #expect(try Quantity.duration(value.utf8) == expected)
    }

    @Test(
        "Sizes",
        arguments: [
            ("0", 0), ("0B", 0), ("1B", 1), ("64KiB", 65536), ("64 KiB", 65536), ("16MiB", 16 << 20), ("1GiB", 1 << 30),
            ("1GB", 1_000_000_000), ("1kB", 1000), ("1KB", 1000), ("1mb", 1_000_000), ("1.5KiB", 1536),
            ("0.5MiB", 524_288), ("2TiB", 2 << 40), ("1TB", 1_000_000_000_000), ("8388607TiB", 8_388_607 << 40),
            ("9223372036854775807B", .max), ("1.9B", 1),
        ] as [(String, Int)])
    func sizes(value: String, expected: Int) throws {
        #expect(try Quantity.size(value.utf8) == expected)
    }

    @Test("Rates", arguments: [("64KiB/s", 65536), ("1.5 MB/s", 1_500_000), ("0", 0), ("9B/s", 9)])
    func rates(value: String, expected: Int) throws {
        #expect(try Quantity.rate(value.utf8) == expected)
    }

    @Test(
        "What is no duration says why",
        arguments: [
            ("", .noNumber(.duration)), ("s", .noNumber(.duration)), (".5s", .noNumber(.duration)),
            ("1.s", .noNumber(.duration)), ("+1s", .noNumber(.duration)), (" 1s", .noNumber(.duration)),
            ("-1s", .negative(.duration)), ("-0", .negative(.duration)), ("10", .needsUnit(.duration)),
            ("10 ", .needsUnit(.duration)), ("1.5", .needsUnit(.duration)), ("1e3s", .unknownUnit(.duration, "e3s")),
            ("10S", .unknownUnit(.duration, "S")), ("10M", .unknownUnit(.duration, "M")),
            ("1s ", .unknownUnit(.duration, "s ")), ("1  s", .unknownUnit(.duration, " s")),
            ("1KiB", .unknownUnit(.duration, "KiB")), ("1h30m", .unknownUnit(.duration, "h30m")),
            ("1.5.5s", .unknownUnit(.duration, ".5s")), ("0x1s", .unknownUnit(.duration, "x1s")),
            ("9223372036854775808ns", .tooLarge(.duration)), ("9223372036.854775808s", .tooLarge(.duration)),
            ("106752d", .tooLarge(.duration)), ("99999999999999999999999999s", .tooLarge(.duration)),
            ("\u{FF11}s", .noNumber(.duration)),
        ] as [(String, UnitError)])
    func badDurations(value: String, expected: UnitError) {
        #expect(throws: expected) { try Quantity.duration(value.utf8) }
    }

    @Test(
        "What is no size or rate says why",
        arguments: [
            ("1024", .needsUnit(.size)), ("64K", .unknownUnit(.size, "K")), ("64KiB/s", .unknownUnit(.size, "KiB/s")),
            ("8388608TiB", .tooLarge(.size)), ("9223372036854775808B", .tooLarge(.size)), ("-1", .negative(.size)),
            ("10s", .unknownUnit(.size, "s")), ("1\u{212A}B", .unknownUnit(.size, "\u{212A}B")),
        ] as [(String, UnitError)])
    func badSizes(value: String, expected: UnitError) {
        #expect(throws: expected) { try Quantity.size(value.utf8) }
    }

    @Test("A rate needs /s")
    func badRates() {
        #expect(throws: UnitError.unknownUnit(.rate, "KiB")) { try Quantity.rate("64KiB".utf8) }
        #expect(throws: UnitError.needsUnit(.rate)) { try Quantity.rate("64".utf8) }
        #expect(throws: UnitError.unknownUnit(.rate, "/s")) { try Quantity.rate("64/s".utf8) }
    }

    @Test("Messages show how it is written")
    func messages() {
        #expect(UnitError.needsUnit(.size).description == "needs a unit, as in 64KiB, 16MiB, 1GB")
        #expect(UnitError.unknownUnit(.rate, "KB/h").description.hasPrefix("unknown unit 'KB/h'"))
    }

    @Test("Bytes that are not UTF-8 are no unit")
    func rawBytes() {
        #expect(throws: UnitError.self) { try Quantity.size([0x31, 0xff]) }
    }
}
