import Testing

@testable import subproxy

@Suite("What is said of a command line that can't be used")
struct UsageMessageTests {
    @Test(
        "is one line without a capital and a full stop",
        arguments: [
            ("Missing value for '--map'.", "missing value for '--map'"), ("", "the command line can't be used"),
            ("  Two\n  lines.  ", "two lines"),
            ("Unknown option '--mpa'. Did you mean '--map'?", "unknown option '--mpa'; did you mean '--map'?"),
        ])
    func form(message: String, line: String) { #expect(UsageMessage.oneLine(message, command: "serve") == line) }

    @Test(
        "says what an argument without a place was meant to be",
        arguments: [
            ("run", "ls", "; the command follows '--', as in: run --map FILE -- COMMAND"),
            ("ca", "x", "; 'ca' has path, install, uninstall and doctor"),
            ("serve", "m.yaml", "; a map is named with --map"), ("m.yml", "m.yml", "; a map is named with --map"),
            ("srve", "srve", "; did you mean 'serve'?"), (nil, "zzzzz", "; 'subproxy --help' lists the commands"),
        ] as [(String?, String, String)])
    func hints(command: String?, argument: String, hint: String) {
        let line = UsageMessage.oneLine("Unexpected argument '\(argument)'", command: command)
        #expect(line == "unexpected argument '\(argument)'\(hint)")
    }
}
