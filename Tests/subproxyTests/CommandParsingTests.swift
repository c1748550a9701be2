import ArgumentParser
import Testing

@testable import subproxy

@Suite("A command line that begins with a command's name")
struct CommandParsingTests {
    @Test(
        "is read as it is from the root, whose options are those of serve",
        arguments: [
            ("--map a.yaml --listen 127.0.0.1:0", "ServeCommand"), ("serve --map a.yaml", "ServeCommand"),
            ("--offline --map a.yaml --map b.yaml", "ServeCommand"), ("check --strict a.yaml b.yaml", "CheckCommand"),
            ("explain --map a.yaml http://a.test/", "ExplainCommand"),
            ("run --map a.yaml -- sh -c --help", "RunCommand"), ("replay a.har --report -", "ReplayCommand"),
            ("record -o r/ --mode all", "RecordCommand"), ("save http://a.test/ -o a.mhtml", "SaveCommand"),
            ("session list --map a.yaml", "SessionListCommand"), ("archive list a.har", "ArchiveListCommand"),
            ("ca doctor", "AuthorityDoctorCommand"),
        ])
    func named(line: String, type: String) throws {
        let words = line.split(separator: " ").map(String.init)
        let command = try #require(RootCommand.parseNamed(words))
        let fromRoot = try RootCommand.parseAsRoot(words)
        #expect("\(Swift.type(of: command))" == type)
        #expect(String(reflecting: command) == String(reflecting: fromRoot))
    }

    @Test(
        "is left to the root where the parser has something to say",
        arguments: [
            "", "help", "help serve", "--help", "serve --help", "run -h", "--version", "serve --version", "nix",
            "--nix",
            "serve --nix", "ca", "session", "session nix", "ca --help", "ca doctor --help",
            "record --mode nix -o r/", "--listen 127.0.0.1:0 check a.yaml", "--experimental-dump-help",
        ])
    func leftToRoot(line: String) {
        #expect(RootCommand.parseNamed(line.split(separator: " ").map(String.init)) == nil)
    }
}
