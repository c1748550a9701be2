import Testing

@testable import ForwardProxy

@Suite("Clients that have given wrong credentials")
struct FailedAttemptsTests {
    private let second: UInt64 = 1_000_000_000
    private let client = FailedAttempts.Client("192.0.2.1")

    private func failures(_ count: Int, at now: UInt64) -> FailedAttempts {
        var attempts = FailedAttempts()
        for _ in 0..<count { attempts.failed(client, now: now) }
        return attempts
    }

    @Test(
        "five failures are free, then each wait is twice the last one, 30 seconds at most",
        arguments: [(0, 0), (5, 0), (6, 1), (7, 2), (8, 4), (9, 8), (10, 16), (11, 30), (12, 30), (5000, 30)])
    func waits(failures: Int, seconds: UInt64) {
        let attempts = self.failures(failures, at: 100 * second)
        #expect(attempts.wait(client, now: 100 * second) == seconds * second)
        #expect(attempts.wait(client, now: (100 + seconds) * second) == 0)
        #expect(attempts.wait(FailedAttempts.Client("192.0.2.2"), now: 100 * second) == 0)
    }

    @Test("a success, or ten minutes, and all is forgotten")
    func forgotten() {
        var attempts = failures(10, at: 100 * second)
        attempts.succeeded(client)
        #expect(attempts.wait(client, now: 100 * second) == 0)
        attempts = failures(10, at: 100 * second)
        attempts.failed(client, now: 701 * second)
        #expect(attempts.wait(client, now: 701 * second) == 0)
    }

    @Test("IPv6 clients of one network of 64 bits are one")
    func networks() {
        #expect(FailedAttempts.Client("2001:db8::1") == FailedAttempts.Client("2001:db8:0:0:ffff::2"))
        #expect(FailedAttempts.Client("2001:db8::1") != FailedAttempts.Client("2001:db8:0:1::1"))
        #expect(FailedAttempts.Client("192.0.2.1") != FailedAttempts.Client("192.0.2.2"))
    }

    @Test("a full table gives up the client that failed the longest time ago")
    func bounded() {
        var attempts = failures(10, at: 100 * second)
        for index in 1..<FailedAttempts.capacity {
            let other = FailedAttempts.Client("198.51.100.\(index)")
            for _ in 0..<10 { attempts.failed(other, now: 101 * second) }
        }
        #expect(attempts.wait(client, now: 101 * second) > 0)
        attempts.failed(FailedAttempts.Client("203.0.113.1"), now: 102 * second)
        #expect(attempts.wait(client, now: 102 * second) == 0)
        #expect(attempts.wait(FailedAttempts.Client("198.51.100.7"), now: 102 * second) > 0)
    }
}
