import NIOCore
import Testing

@testable import ForwardProxy

@Suite("Prometheus's text format")
struct MetricsWriterTests {
    @Test("a family has its help and its type, then its samples, with label values escaped")
    func family() {
        var writer = MetricsWriter()
        writer.family("a_total", .counter, "What is counted.")
        writer.sample("a_total", [("kind", "x\"\\\ny"), ("more", "é")], 3)
        writer.single("b", .gauge, "One.", 4)
        #expect(
            String(buffer: writer.buffer) == #"""
                # HELP a_total What is counted.
                # TYPE a_total counter
                a_total{kind="x\"\\\ny",more="é"} 3
                # HELP b One.
                # TYPE b gauge
                b 4

                """#)
    }

    @Test("a histogram's buckets are cumulative, and the last one is its count")
    func histogram() {
        var writer = MetricsWriter()
        writer.histogram(
            "h", [("of", "x")], buckets: [1, 0, 2], bounds: [500_000, 1_000_000_000], nanoseconds: 1_500_000_000)
        #expect(
            String(buffer: writer.buffer) == """
                h_bucket{of="x",le="0.0005"} 1
                h_bucket{of="x",le="1"} 1
                h_bucket{of="x",le="+Inf"} 3
                h_sum{of="x"} 1.5
                h_count{of="x"} 3

                """)
    }

    @Test(
        "nanoseconds become seconds without a rounding",
        arguments: [
            (0, "0"), (1, "0.000000001"), (50_000, "0.00005"), (100_000_000, "0.1"), (2_500_000_000, "2.5"),
            (60_000_000_000, "60"), (UInt64.max, "18446744073.709551615"),
        ] as [(UInt64, String)])
    func seconds(nanoseconds: UInt64, text: String) {
        #expect(MetricsWriter.seconds(nanoseconds) == text)
    }
}
