import HTTPSemantics
import Testing

@testable import HTTPCaching

@Suite("The age of a response")
struct AgeTests {
    static let values: [([String], Int64)] = [
        ([], 0), (["Age: 0"], 0), (["Age: 60"], 60), (["age:  60 "], 60), (["Age: 060"], 60), (["Age: 60, 30"], 60),
        (["Age: ,, 60"], 60), (["Age: 60", "Age: 30"], 60), (["Age:", "Age: 30"], 30), (["Age: x", "Age: 30"], 0),
        (["Age: x, 30"], 0), (["Age: -60"], 0), (["Age: +60"], 0), (["Age: 60.5"], 0), (["Age: 60s"], 0),
        (["Age: 6 0"], 0), (["Age: \"60\""], 0), (["Age: 1e3"], 0), (["Age: 0x10"], 0), (["Age: 2147483648"], 1 << 31),
        (["Age: 18446744073709551616"], 1 << 31), (["Age: 99999999999999999999999"], 1 << 31),
    ]

    @Test("Age is the first member where that is a non-negative integer, else 0", arguments: values)
    func value(_ lines: [String], _ expected: Int64) {
        #expect(Age.value(fields(lines)) == expected)
    }

    /// Age, Date relative to receipt, delay, expected.
    static let initial: [(String?, Int64?, Int64, Int64)] = [
        (nil, 0, 0, 0), ("10", 0, 0, 10), (nil, -10, 0, 10), ("5", -10, 0, 10), ("15", -10, 0, 15), ("5", 0, 7, 12),
        (nil, -10, 7, 10), (nil, 1000, 0, 0), ("5", 1000, 0, 5), ("5", nil, 2, 7), ("99999999999", 0, 7, 1 << 31),
        (nil, -5_000_000_000, 0, 1 << 31), (nil, 0, -5, 0),
    ]

    @Test("At receipt it is the larger one of what Date and of what Age and the delay say", arguments: initial)
    func correctedInitial(_ age: String?, _ date: Int64?, _ delay: Int64, _ expected: Int64) {
        var response = response(200, age.map { ["Age: \($0)"] } ?? [])
        response.requestedAt = at(-delay)
        #expect(Age.correctedInitial(response, date: epoch + (date ?? 0)) == expected)
    }

    @Test("It grows with the steady clock, whatever the wall clock does")
    func current() throws {
        let stored = try #require(try stored("Cache-Control: max-age=60", "Age: 5"))
        #expect(stored.currentAge(at: at(0)) == 5)
        #expect(stored.currentAge(at: at(50)) == 55)
        #expect(stored.timeToLive(at: at(50)) == 5)
        #expect(stored.timeToLive(at: at(60)) == -5)
        var jumped = at(10)
        jumped.wall += 1_000_000_000
        #expect(stored.currentAge(at: jumped) == 15)
        jumped.wall = .min
        #expect(stored.currentAge(at: jumped) == 15)
        #expect(stored.currentAge(at: at(-100)) == 5)
        #expect(stored.currentAge(at: CacheInstant(wall: 0, steady: .max)) <= 1 << 31)
    }

    @Test("Part of a second is no second")
    func fractions() throws {
        let stored = try #require(try stored("Cache-Control: max-age=60"))
        var now = at(1)
        now.steady -= 1
        #expect(stored.currentAge(at: now) == 0)
    }

    @Test("A clock that is far off makes no age that overflows", arguments: [Int64.min, -1, 0, .max])
    func clocks(_ wall: Int64) throws {
        var response = response(200, ["Cache-Control: max-age=60", "Expires: 0", "Last-Modified: \(date(0))"])
        response.receivedAt.wall = wall
        let verdict = Storing.verdict(request(), target: try target(), response, policy: CachePolicy())
        guard case .store(let stored) = verdict else {
            Issue.record("refused")
            return
        }
        #expect((0...(1 << 31)).contains(stored.correctedInitialAge))
    }
}
