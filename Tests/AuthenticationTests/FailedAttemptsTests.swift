import Testing

@testable import Authentication

@Suite("Clients that have given wrong credentials")
struct FailedAttemptsTests {
    private let second: UInt64 = 1_000_000_000
    private let client = FailedAttempts.Client("192.0.2.1")
    private let ann = FailedAttempts.Name(Array("ann".utf8))
    private let bob = FailedAttempts.Name(Array("bob".utf8))

    private func failures(_ count: Int, at now: UInt64) -> FailedAttempts {
        var attempts = FailedAttempts()
        for _ in 0..<count { attempts.failed(client, ann, now: now) }
        return attempts
    }

    @Test(
        "five failures are free, then each wait is twice the last one, 30 seconds at most",
        arguments: [(0, 0), (5, 0), (6, 1), (7, 2), (8, 4), (9, 8), (10, 16), (11, 30), (12, 30), (5000, 30)])
    func waits(failures: Int, seconds: UInt64) {
        let attempts = self.failures(failures, at: 100 * second)
        #expect(attempts.wait(client, ann, now: 100 * second) == seconds * second)
        #expect(attempts.wait(client, ann, now: (100 + seconds) * second) == 0)
        #expect(attempts.wait(FailedAttempts.Client("192.0.2.2"), bob, now: 100 * second) == 0)
    }

    @Test("a success with the same name, or ten minutes, and all is forgotten")
    func forgotten() {
        var attempts = failures(10, at: 100 * second)
        attempts.succeeded(client, ann)
        #expect(attempts.wait(client, ann, now: 100 * second) == 0)
        attempts = failures(10, at: 100 * second)
        attempts.failed(client, ann, now: 701 * second)
        #expect(attempts.wait(client, ann, now: 701 * second) == 0)
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
            for _ in 0..<10 { attempts.failed(other, ann, now: 101 * second) }
        }
        #expect(attempts.wait(client, ann, now: 101 * second) > 0)
        attempts.failed(FailedAttempts.Client("203.0.113.1"), ann, now: 102 * second)
        #expect(attempts.wait(client, ann, now: 102 * second) == 0)
        #expect(attempts.wait(FailedAttempts.Client("198.51.100.7"), ann, now: 102 * second) > 0)
    }

    @Test("a success takes back nothing of what was counted against another name, or another client")
    func successOfAnother() {
        var attempts = failures(7, at: 100 * second)
        for _ in 0..<3 { attempts.failed(client, bob, now: 100 * second) }
        attempts.succeeded(client, bob)
        #expect(attempts.count(client.networks[0], FailedAttempts.Name([]), now: 100 * second) == 7)
        #expect(attempts.wait(client, ann, now: 100 * second) == 2 * second)
        attempts.succeeded(client, bob)
        attempts.succeeded(FailedAttempts.Client("192.0.2.2"), ann)
        #expect(attempts.wait(client, ann, now: 100 * second) == 2 * second)
        // Of more names than are told apart nothing is taken back.
        let names = (0..<100).map { FailedAttempts.Name([UInt8($0)]) }
        for name in names { attempts.failed(client, name, now: 100 * second) }
        for name in names { attempts.succeeded(client, name) }
        #expect(
            attempts.count(client.networks[0], FailedAttempts.Name([]), now: 100 * second) >= 7 + 100
                - FailedAttempts.namesOfClient)
    }

    @Test(
        "of a /56 and a /48 more failures are free, and then one every 30 seconds, from whichever address they come",
        arguments: [(56, 20), (48, 80)])
    func widerNetworks(bits: Int, free: Int) {
        var attempts = FailedAttempts()
        /// Another /64 each time; for the /48, also another /56.
        func client(_ index: Int) -> FailedAttempts.Client {
            FailedAttempts.Client("2001:db8:0:\(String(bits == 56 ? index & 0xff : index << 8 & 0xffff, radix: 16))::1")
        }
        let now = 1000 * second
        var given = 0
        for index in 0..<250 where attempts.wait(client(index), ann, now: now) == 0 {
            attempts.failed(client(index), FailedAttempts.Name([UInt8(index)]), now: now)
            given += 1
        }
        #expect(given == free + 1)
        #expect(attempts.wait(client(251), bob, now: now) == 30 * second)
        #expect(attempts.wait(FailedAttempts.Client("2001:db8:1::1"), bob, now: now) == 0)
        // Success takes nothing back there: anybody may have a name of his own.
        attempts.succeeded(client(0), FailedAttempts.Name([0]))
        #expect(attempts.wait(client(251), bob, now: now) == 30 * second)
        #expect(attempts.wait(client(251), bob, now: now + 30 * second) == 0)
        attempts.failed(client(251), bob, now: now + 30 * second)
        #expect(attempts.wait(client(252), bob, now: now + 30 * second) == 30 * second)
    }

    @Test("of all link-local addresses as many are free as of a /48, and of each as many as of any address")
    func linkLocal() {
        var attempts = FailedAttempts()
        let now = 1000 * second
        for index in 0...80 {
            let client = FailedAttempts.Client("fe80::\(String(index, radix: 16))\(index % 2 == 0 ? "" : "%eth0")")
            #expect(attempts.wait(client, ann, now: now) == 0)
            attempts.failed(client, FailedAttempts.Name([UInt8(index)]), now: now)
        }
        #expect(attempts.wait(FailedAttempts.Client("fe80::1:1"), bob, now: now) == 30 * second)
        #expect(attempts.wait(FailedAttempts.Client("2001:db8::1"), bob, now: now) == 0)
        var others = FailedAttempts()
        for _ in 0...FailedAttempts.free { others.failed(FailedAttempts.Client("fe80::1"), ann, now: now) }
        #expect(others.wait(FailedAttempts.Client("fe80::1%eth0"), ann, now: now) > 0)
        #expect(others.wait(FailedAttempts.Client("fe80::2"), ann, now: now) == 0)
    }

    @Test("with a name that many have failed with, an address waits from its first failure, and one without is checked")
    func name() {
        var attempts = FailedAttempts()
        let now = 1000 * second
        for index in 0...FailedAttempts.freeForName {
            let other = FailedAttempts.Client("198.51.100.\(index)")
            #expect(attempts.wait(other, ann, now: now) == 0)
            attempts.failed(other, ann, now: now)
            #expect((attempts.wait(other, ann, now: now) > 0) == (index == FailedAttempts.freeForName))
        }
        // The owner, from an address that nothing is known of: a first attempt, not a second one.
        #expect(attempts.wait(client, ann, now: now) == 0)
        attempts.failed(client, ann, now: now)
        #expect(attempts.wait(client, ann, now: now) == second)
        #expect(attempts.wait(client, bob, now: now) == 0)
        // In time it is a name as any other.
        #expect(attempts.wait(FailedAttempts.Client("198.51.100.1"), ann, now: now + 90 * second) == 0)
    }

    @Test("what is counted together is bounded, and what is the most in debt stays")
    func boundedAllowance() {
        var allowance = Allowance<Int>()
        for _ in 0..<10 { allowance.spend(-1, free: 20, now: 0) }
        for key in 0..<(2 * FailedAttempts.capacity) { allowance.spend(key, free: 20, now: 0) }
        #expect(allowance.count(-1, now: 0) == 10)
        #expect(
            (-1..<(2 * FailedAttempts.capacity)).count { allowance.count($0, now: 0) > 0 } == FailedAttempts.capacity)
        #expect(allowance.count(-1, now: 45 * second) == 9)
        #expect(allowance.count(-1, now: 300 * second) == 0)
    }
}
