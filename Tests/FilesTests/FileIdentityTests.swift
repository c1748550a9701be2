import Testing

@testable import Files

struct FileIdentityTests {
    private func identity(changed: FileTime) -> FileIdentity {
        FileIdentity(device: 1, inode: 2, size: 3, modified: changed, changed: changed)
    }

    @Test(
        "A file changed within the last 50 ms may change again unseen",
        arguments: [
            (0, false), (49_000_000, false), (50_000_000, false), (51_000_000, true), (1_000_000_000, true),
            // A file server's clock that is ahead, and one that is far ahead.
            (-1_000_000, false), (-59_000_000_000, false), (-61_000_000_000, true),
        ] as [(Int64, Bool)])
    func settling(age: Int64, isSettled: Bool) {
        let changed = FileTime(seconds: 1_700_000_000, nanoseconds: 123_456_789)
        let now = UInt64(changed.nanosecondsSinceEpoch + age)
        #expect(identity(changed: changed).isSettled(at: now) == isSettled)
    }

    @Test("A time without a fraction may be one of whole seconds", arguments: [(1_900, false), (2_100, true)])
    func wholeSeconds(milliseconds: Int64, isSettled: Bool) {
        let changed = FileTime(seconds: 1_700_000_000)
        let now = UInt64(changed.nanosecondsSinceEpoch + milliseconds * 1_000_000)
        #expect(identity(changed: changed).isSettled(at: now) == isSettled)
    }

    @Test("Times beyond what nanoseconds can hold do no harm")
    func extremes() {
        #expect(FileTime(seconds: .max, nanoseconds: 999_999_999).nanosecondsSinceEpoch == .max)
        #expect(FileTime(seconds: .min).nanosecondsSinceEpoch == .min)
        #expect(identity(changed: FileTime(seconds: .max)).isSettled(at: .max) == false)
        #expect(identity(changed: FileTime(seconds: .min)).isSettled(at: .max))
        #expect(!FileTime(seconds: .max).isOlder(than: FileTime(seconds: .max), byMoreThan: 2))
        #expect(FileTime(seconds: .min).isOlder(than: FileTime(seconds: 0), byMoreThan: 2))
    }

    @Test("Age is compared with fractions")
    func age() {
        let time = FileTime(seconds: 10, nanoseconds: 500)
        #expect(!FileTime(seconds: 8, nanoseconds: 500).isOlder(than: time, byMoreThan: 2))
        #expect(FileTime(seconds: 8, nanoseconds: 499).isOlder(than: time, byMoreThan: 2))
        #expect(!FileTime(seconds: 12).isOlder(than: time, byMoreThan: 2))
    }

    @Test("A file may have changed since a time that is not behind that of its change")
    func changeSince() {
        func mayHaveChanged(_ nanoseconds: Int64, since times: [UInt64]) -> [Bool] {
            let identity = identity(changed: FileTime(seconds: 100, nanoseconds: nanoseconds))
            return times.map { identity.mayHaveChanged(since: $0) }
        }
        let change: UInt64 = 100_000_000_000
        let times: [UInt64] = [0, change, change + 7, change + 8, .max]
        #expect(mayHaveChanged(7, since: times) == [true, true, true, false, false])
        // A time of whole seconds.
        #expect(mayHaveChanged(0, since: [change + 999_999_999, change + 1_000_000_000]) == [true, false])
    }
}
