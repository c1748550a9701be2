import Testing

@testable import ForwardProxy

@Suite("Buckets of durations")
struct DurationBucketsTests {
    @Test("bounds rise, and there is one bucket more than bounds")
    func bounds() {
        let bounds = DurationBuckets.bounds.indices.map { DurationBuckets.bounds[$0] }
        #expect(bounds == bounds.sorted() && Set(bounds).count == bounds.count)
        #expect(DurationBuckets.Counts(repeating: 0).count == bounds.count + 1)
    }

    @Test(
        "a bound belongs to its bucket, what is longer than all to the last one",
        arguments: [
            (0, 0), (50_000, 0), (50_001, 1), (100_000, 1), (1_000_000, 4), (59_999_999_999, 17),
            (60_000_000_000, 17), (60_000_000_001, 18), (UInt64.max, 18),
        ] as [(UInt64, Int)])
    func index(nanoseconds: UInt64, bucket: Int) {
        #expect(DurationBuckets.index(of: nanoseconds) == bucket)
    }
}
