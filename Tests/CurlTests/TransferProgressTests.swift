import Testing

@testable import Curl

@Suite("What is known of a running transfer")
struct TransferProgressTests {
    private func noting(_ lines: [String], awaitsContinue: Bool = false) -> TransferProgress {
        var progress = TransferProgress()
        progress.awaitsContinue = awaitsContinue
        for line in lines { latin1(line).withUnsafeBytes { progress.note($0) } }
        return progress
    }

    @Test(
        "The final head ends with its empty line",
        arguments: [
            (["HTTP/1.1 200 OK\r\n", "A: b\r\n"], false), (["HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n"], true),
            (["HTTP/1.1 200 OK\n", "\n"], true), (["HTTP/1.1 103 E\r\n", "\r\n"], false),
            (["HTTP/1.1 103 E\r\n", "\r\n", "HTTP/1.1 100 C\r\n", "\r\n"], false),
            (["HTTP/1.1 103 E\r\n", "\r\n", "HTTP/1.1 404 C\r\n", "\r\n"], true),
            (["HTTP/1.1 101 S\r\n", "\r\n"], true), (["HTTP/1.1\r\n", "\r\n"], true),
            (["HTTP/1.1 2x0\r\n", "\r\n"], true),
            ([], false), ([""], false),
        ] as [([String], Bool)])
    func finalHead(lines: [String], isFinal: Bool) {
        #expect(noting(lines).hasFinalHead == isFinal)
    }

    @Test(
        "100 and a final status below 300 end the wait for 100",
        arguments: [
            ("100", false), ("103", true), ("200", false), ("299", false), ("300", true), ("417", true), ("503", true),
        ])
    func awaiting(status: String, awaits: Bool) {
        #expect(noting(["HTTP/1.1 \(status) X\r\n", "\r\n"], awaitsContinue: true).awaitsContinue == awaits)
    }

    @Test("Silence counts only while the origin is waited for")
    func silence() {
        var progress = TransferProgress()
        progress.lastActivity = 1000
        #expect(progress.silence(5000, limit: 100) == nil, "connecting has a limit of its own")
        progress.attempts = 1
        #expect(progress.silence(1099, limit: 100) == nil)
        #expect(progress.silence(1100, limit: 100) == .beforeHead)
        progress.hasFinalHead = true
        #expect(progress.silence(1100, limit: 100) == .inBody)
        progress.receivingIsPaused = true
        #expect(progress.silence(9000, limit: 100) == nil, "the client doesn't read")
        progress.receivingIsPaused = false
        progress.sendingIsHeld = true
        #expect(progress.silence(9000, limit: 100) == nil, "the client doesn't send")
        progress.awaitsContinue = true
        #expect(progress.silence(9000, limit: 100) == .inBody, "the client can't send before the origin speaks")
    }
}
