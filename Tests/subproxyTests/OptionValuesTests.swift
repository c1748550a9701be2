import NIOCore
import Substitution
import Testing

@testable import subproxy

@Suite("Values of options")
struct OptionValuesTests {
    /// What is said of a value that can't be used; nil where it can.
    private func refusal(_ read: () throws -> some Any) -> String? {
        do {
            _ = try read()
            return nil
        } catch { return "\(error)" }
    }

    @Test(
        "numbers are digits and nothing else, nine at the most",
        arguments: [
            ("0", 0), ("007", 7), ("999999999", 999_999_999), ("1000000000", nil), ("", nil), ("+1", nil), ("-1", nil),
            ("1 ", nil), ("0x1", nil), ("１", nil),
        ] as [(String, Int?)])
    func decimal(text: String, value: Int?) { #expect(DecimalNumber.parse(text.utf8) == value) }

    @Test("counts have bounds")
    func counts() throws {
        let read = OptionValue.count(1...100)
        #expect(try read("1") == 1)
        #expect(try read("100") == 100)
        for text in ["0", "101", "", "x", "1.5"] {
            #expect(refusal { try read(text) } == "must be a whole number from 1 to 100")
        }
    }

    @Test("sizes have units and bounds, which are told as one would write them")
    func sizes() throws {
        let read = OptionValue.size(1 << 10...16 << 20)
        #expect(try read("1KiB") == 1024)
        #expect(try read("16MiB") == 16 << 20)
        #expect(refusal { try read("17MiB") } == "must be from 1KiB to 16MiB")
        #expect(refusal { try read("1024") } != nil)
    }

    @Test(
        "durations are from a millisecond to a year; some may be 0",
        arguments: [
            ("1ms", false, true), ("365d", false, true), ("366d", false, false), ("999us", false, false),
            ("0s", false, false), ("0s", true, true), ("0.5ms", true, false),
        ])
    func durations(text: String, allowsZero: Bool, isTaken: Bool) {
        let problem = refusal { try OptionValue.duration(allowsZero: allowsZero)(text) }
        #expect(problem == (isTaken ? nil : "must be from \(allowsZero ? "0" : "1ms") to 365d"))
    }

    private enum Form: String, CaseIterable {
        case text, json, none
    }

    @Test("a choice is one of its words; a near one is offered")
    func choices() throws {
        #expect(try OptionValue.choice("json") as Form == .json)
        #expect(
            refusal { try OptionValue.choice("jsn") as Form }
                == "must be text, json or none; did you mean 'json'?")
        #expect(refusal { try OptionValue.choice("xml") as Form } == "must be text, json or none")
    }

    @Test(
        "ports have commas between",
        arguments: [
            ("", []), ("443", [443]), ("443,8443", [443, 8443]), ("65535,1", [1, 65535]), ("0", nil), ("65536", nil),
            ("443,", nil), (",443", nil), ("443, 8443", nil), ("a", nil),
        ] as [(String, Set<UInt16>?)])
    func ports(text: String, expected: Set<UInt16>?) { #expect((try? OptionValue.ports(text)) == expected) }

    @Test(
        "field names are tokens, and are kept in lower case",
        arguments: [
            ("CDN-Cache-Control", ["cdn-cache-control"]), ("A,b", ["a", "b"]), ("", nil), ("A,", nil), ("A b", nil),
            ("A:", nil),
        ] as [(String, [String]?)])
    func fieldNames(text: String, expected: [String]?) {
        #expect((try? OptionValue.fieldNames(text)) == expected?.map { Array($0.utf8) })
    }

    @Test(
        "names of what is taken out have commas between, and blanks around them that don't count",
        arguments: [
            ("pin", ["pin"]), ("pin, X-Session", ["pin", "X-Session"]), (" a b ,\tc", ["a b", "c"]), ("", nil),
            (" ", nil),
            ("a,", nil), ("a, ,b", nil),
        ] as [(String, [String]?)])
    func redactedNames(text: String, expected: [String]?) {
        #expect((try? OptionValue.redactedNames(text)) == expected)
    }

    @Test(
        "an entry that resolves a host has an address; the root's dot is left out",
        arguments: [
            ("www.example.com:80:127.0.0.1", "www.example.com:80:127.0.0.1"), ("a.test.:443:::1", "a.test:443:::1"),
            ("a:1:[::1]", "a:1:[::1]"), ("a:0:127.0.0.1", nil), ("a:65536:127.0.0.1", nil), ("a:80:host", nil),
            (":80:127.0.0.1", nil), ("a:80", nil), ("a b:80:127.0.0.1", nil), ("a..:80:127.0.0.1", nil),
            ("a:80:[127.0.0.1", nil), ("a:80:127.0.0.1,127.0.0.2", "a:80:127.0.0.1,127.0.0.2"),
            ("a.:80:[::1],127.0.0.1,::1", "a:80:[::1],127.0.0.1,::1"), ("a:80:127.0.0.1,", nil),
            ("127.1:80:127.0.0.2", "127.0.0.1:80:127.0.0.2"), ("a:80:,127.0.0.1", nil), ("a:80:127.0.0.1,host", nil),
            ("a:80:[127.0.0.1]", nil), ("a:80:", nil),
        ] as [(String, String?)])
    func resolveEntries(text: String, expected: String?) { #expect((try? OptionValue.resolveEntry(text)) == expected) }

    @Test(
        "hosts that go to no parent proxy have addresses in one form",
        arguments: [
            ("", ""), ("*", "*"), ("a.test,.b.test c", "a.test,.b.test,c"), ("127.1", "127.0.0.1"),
            ("[::0001]", "[::1]"),
            ("0:0:0:0:0:0:0:1,a", "[::1],a"), ("10", "10"),
        ])
    func noProxy(text: String, expected: String) { #expect(OptionValue.noProxy(text) == expected) }

    @Test(
        "hosts of options have addresses in one form",
        arguments: [
            ("127.1", "127.0.0.1"), ("[::0001]", "[::1]"), ("A.Test.", "a.test"), ("127.*", "127.*"), ("*.1", "*.1"),
        ])
    func hostPatterns(text: String, expected: String) { #expect(HostPattern(text.utf8)?.text == expected) }

    @Test(
        "a parent proxy has a scheme that is known, a host and a port",
        arguments: [
            ("http://p:3128", true), ("HTTP://p:3128/", true), ("socks5://p:1", true), ("socks5h://u:w@p:1080", true),
            ("http://[::1]:80", true), ("https://p:443", false), ("p:3128", false), ("http://p", false),
            ("http://p:0", false), ("http://:80", false), ("http://u@:80", false), ("http://p:80/x", false),
            ("http://p p:80", false),
        ])
    func parentProxies(text: String, isTaken: Bool) {
        #expect((try? OptionValue.parentProxy(text)) == (isTaken ? text : nil))
    }

    @Test(
        "sizes and durations are written as on the command line",
        arguments: [
            (0, "0B"), (1, "1B"), (1023, "1023B"), (1024, "1KiB"), (1536, "1536B"), (64 << 20, "64MiB"),
            (1 << 30, "1GiB"), (3 << 40, "3TiB"),
        ])
    func sizeTexts(bytes: Int, text: String) { #expect(OptionValue.sizeText(bytes) == text) }

    @Test("durations take the largest unit that divides them")
    func durationTexts() {
        #expect(OptionValue.durationText(.hours(48)) == "2d")
        #expect(OptionValue.durationText(.hours(1)) == "1h")
        #expect(OptionValue.durationText(.seconds(90)) == "90s")
        #expect(OptionValue.durationText(.milliseconds(250)) == "250ms")
        #expect(OptionValue.durationText(.nanoseconds(1)) == "1ns")
    }
}
