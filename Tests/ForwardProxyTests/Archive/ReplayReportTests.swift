import Testing

@testable import ForwardProxy

@Suite("The report of a replay")
struct ReplayReportTests {
    @Test("keeps no more than 10,000 misses, and counts the others")
    func number() {
        let report = ReplayReport()
        for number in 0..<10_020 { report.noteRefusedTunnel(host: "\(number % 10_010).test", port: 443) }
        let (list, more) = report.misses
        #expect(list.count == 10_000 && more == 10 && report.missCount == 10_020)
        #expect(list[9].count == 2 && list[10].count == 1)
    }

    @Test("keeps no more than 32 MiB of misses, and counts the others")
    func bytes() {
        let report = ReplayReport()
        let long = String(repeating: "a", count: 1 << 20)
        for number in 0..<40 { report.noteRefusedTunnel(host: long + "\(number % 35)", port: 443) }
        let (list, more) = report.misses
        #expect(list.count == 31 && more == 4 && report.missCount == 40)
        #expect(list.map(\.count) == Array(repeating: 2, count: 5) + Array(repeating: 1, count: 26))
        // A short one still has its place.
        report.noteRefusedTunnel(host: "a.test", port: 443)
        #expect(report.misses.list.last?.url == "a.test:443")
    }
}
