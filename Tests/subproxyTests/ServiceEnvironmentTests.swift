import NIOCore
import Testing

@testable import subproxy

@Suite("What a service manager has put into the environment")
struct ServiceEnvironmentTests {
    @Test(
        "a sign of life is sent twice in the time that the manager allows",
        arguments: [
            (["WATCHDOG_USEC": "2000000"], .seconds(1)), (["WATCHDOG_USEC": "1"], .microseconds(1)), ([:], nil),
            (["WATCHDOG_USEC": "0"], nil), (["WATCHDOG_USEC": "-5"], nil), (["WATCHDOG_USEC": "x"], nil),
            (["WATCHDOG_USEC": "9223372036854775807"], nil), (["WATCHDOG_USEC": "99999999999999999999"], nil),
            (["WATCHDOG_USEC": "2000", "WATCHDOG_PID": "42"], .milliseconds(1)),
            (["WATCHDOG_USEC": "2000", "WATCHDOG_PID": "43"], nil),
            (["WATCHDOG_USEC": "2000", "WATCHDOG_PID": ""], nil),
        ] as [([String: String], TimeAmount?)])
    func watchdog(variables: [String: String], interval: TimeAmount?) {
        #expect(ServiceEnvironment.watchdogInterval({ variables[$0] }, process: 42) == interval)
    }

    @Test(
        "descriptors that are another process's, or none, are not taken",
        arguments: [
            [:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "43", "LISTEN_FDS": "1"], ["LISTEN_PID": "42"],
            ["LISTEN_PID": "42", "LISTEN_FDS": "0"], ["LISTEN_PID": "42", "LISTEN_FDS": "x"],
        ])
    func noDescriptors(variables: [String: String]) throws {
        #expect(try PassedDescriptor.all({ variables[$0] }, process: 42).isEmpty)
    }

    @Test("more than a thousand descriptors are refused before any is looked at")
    func tooMany() {
        let variables = ["LISTEN_PID": "42", "LISTEN_FDS": "1025"]
        #expect(throws: PassedDescriptorError.tooMany(1025)) {
            try PassedDescriptor.all({ variables[$0] }, process: 42)
        }
    }
}
