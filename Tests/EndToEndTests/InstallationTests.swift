import Foundation
import ProxyTestKit
import Testing

/// The root of the package.
private let package = folder(of: folder(of: folder(of: #filePath)))

/// What an installation has beside the program: manual pages, completions of shells, and the places of all that.
@Suite("Installation", .onThreads)
struct InstallationTests {
    // MARK: Manual pages

    /// The commands, and the sections of subproxy(1) that have their options.
    private static let optionSections = [
        (["serve"], "Options of serve and run"), (["run"], "Options of serve and run"), (["check"], "Options of check"),
        (["explain"], "Options of explain"), (["ca", "path"], "Options of ca path"),
        (["ca", "install"], "Options of ca install"), (["ca", "uninstall"], "Options of ca uninstall"),
        (["ca", "doctor"], "Options of ca doctor"), (["archive", "list"], "Options of archive list"),
        (["archive", "cat"], "Options of archive cat"), (["archive", "convert"], "Options of archive convert"),
    ]

    @Test("subproxy(1) has the options that --help has, with the same values and defaults", arguments: optionSections)
    func options(command: [String], section: String) throws {
        let help = try HelpOption.list(try SubproxyProcess.run(command + ["--help"]).output)
        let page = try ManualPage("subproxy.1").items(of: section)
        #expect(!help.isEmpty)
        #expect(Set(help.map(\.names)) == Set(page.map { $0.head.filter { $0.hasPrefix("-") } }))
        for option in help {
            let item = try #require(page.first { $0.head.contains(option.names.last ?? "") })
            #expect(Array(item.head.drop { $0.hasPrefix("-") }) == option.value.map { $0.words } ?? [], "\(option)")
            for value in option.defaults {
                #expect(item.text.contains(value), "\(option): \(value) is not in '\(item.text)'")
            }
        }
    }

    @Test(
        "subproxy(1) has the options that replay, record and save have beside those of serve",
        arguments: ["replay", "record", "save"])
    func furtherOptions(command: String) throws {
        let common = Set(try HelpOption.list(try SubproxyProcess.run(["serve", "--help"]).output).map(\.names))
        let help = try HelpOption.list(try SubproxyProcess.run([command, "--help"]).output)
            .filter { !common.contains($0.names) }
        let page = try ManualPage("subproxy.1").items(of: "Options of \(command)")
        #expect(help.count > 5)
        #expect(Set(help.map(\.names)) == Set(page.map { $0.head.filter { $0.hasPrefix("-") } }))
        for option in help {
            let item = try #require(page.first { $0.head.contains(option.names.last ?? "") })
            #expect(Array(item.head.drop { $0.hasPrefix("-") }) == option.value.map { $0.words } ?? [], "\(option)")
            for value in option.defaults {
                #expect(item.text.contains(value), "\(option): \(value) is not in '\(item.text)'")
            }
        }
    }

    @Test("subproxy(1) has the exit codes that --help has")
    func exitCodes() throws {
        let help = try SubproxyProcess.run(["--help"]).output
        let codes = help.split(separator: "\n").drop { $0 != "EXIT STATUS:" }.dropFirst()
            .prefix { !$0.hasPrefix("USAGE:") }.compactMap { String($0).words.first }.filter { Int($0) != nil }
        let page = try ManualPage("subproxy.1").items(of: "EXIT STATUS").map { $0.head.first ?? "" }
        #expect(codes.count > 5)
        #expect(codes.allSatisfy(page.contains))
    }

    @Test("subproxy(1) names every command")
    func commands() throws {
        let help = try SubproxyProcess.run(["--help"]).output
        let names = help.split(separator: "\n").drop { $0 != "SUBCOMMANDS:" }.dropFirst()
            .filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") && !$0.contains("See '") }
            .compactMap { String($0).words.first }
        let page = try ManualPage("subproxy.1").items(of: "DESCRIPTION").compactMap(\.head.first)
        #expect(names.contains("serve") && names.contains("ca"))
        #expect(names.filter { !page.contains($0) }.isEmpty)
    }

    @Test("substitutions.yaml(5) has the options of a rule that docs/map.md has, and the program knows each")
    func mapOptions() throws {
        let page = try ManualPage("substitutions.yaml.5")
        let sections = ["What answers", "Conditions", "Reply", "Behaviour"]
        var named: Set<String> = []
        for section in sections { named.formUnion(try page.items(of: section).compactMap(\.head.first)) }
        var documented: Set<String> = []
        var section = ""
        for line in try textOfFile("\(package)/docs/map.md").split(separator: "\n") {
            if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
            guard sections.contains(section), line.hasPrefix("| `") else { continue }
            // Not the paths of a table of answers.
            let name = line.dropFirst(3).prefix { $0 != "`" }
            if name.allSatisfy({ $0.isLowercase || $0.isNumber || $0 == "-" }) { documented.insert(String(name)) }
        }
        #expect(named == documented)

        let files = TemporaryFolder()
        let rule = named.sorted().map { "    \($0): { x: 1 }\n" }.joined()
        let map = try files.write("m.yaml", "substitutions:\n  http://a.example/:\n\(rule)")
        let messages = try SubproxyProcess.run(["check", map]).error
        #expect(messages.contains("error"))
        #expect(!messages.contains("unknown option"))
    }

    @Test("The example of substitutions.yaml(5) is a map without errors")
    func example() throws {
        let page = try textOfFile("\(package)/docs/man/substitutions.yaml.5")
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
            .drop { $0 != ".Sh EXAMPLES" }.drop { $0 != ".Bd -literal" }.dropFirst().prefix { $0 != ".Ed" }
        let files = TemporaryFolder()
        try files.write("icons.yaml", "substitutions:\n  http://a.example/i: { text: i }\n")
        #expect(mkdir(files.at("bundle"), 0o755) == 0)
        try files.write("bundle/schema.sql", "CREATE TABLE products(id INTEGER PRIMARY KEY, brand TEXT);\n")
        try files.write("bundle/products.csv", "id,brand\n1,acme\n")
        let text = lines.joined(separator: "\n").replacing("\\e", with: "\\")
        let map = try files.write("substitutions.yaml", text + "\n")
        let finished = try SubproxyProcess.run(["check", map])
        #expect(finished.status == 0, "\(finished.error)")
        #expect(finished.output.contains("2 maps, 14 rules"))
    }

    // MARK: Completions

    /// What the program prints for each shell; asked for once.
    private static let scripts = Dictionary(
        uniqueKeysWithValues: ["bash", "zsh", "fish"].map { shell in
            (shell, Result { try SubproxyProcess.run(["--generate-completion-script", shell]) })
        })

    private func script(_ shell: String) throws -> SubproxyProcess.Finished {
        try #require(Self.scripts[shell]).get()
    }

    @Test("There are completions for each shell", arguments: ["bash", "zsh", "fish"])
    func completions(shell: String) throws {
        let finished = try script(shell)
        #expect(finished.status == 0)
        #expect(finished.error.isEmpty)
        #expect(finished.output.contains("--shutdown-grace") || finished.output.contains("-l 'shutdown-grace'"))
    }

    private func syntax(_ shell: String) throws {
        let files = TemporaryFolder()
        let script = try files.write("completions", try script(shell).output)
        let read = try SubproxyProcess.run(["-n", script], program: shell)
        #expect(read.status == 0, "\(read.error)")
    }

    @Test("The completions for bash are a script that it can read")
    func bash() throws { try syntax("bash") }

    @Test(
        "The completions for zsh are a script that it can read",
        .program("zsh", of: "zsh"))
    func zsh() throws { try syntax("zsh") }

    @Test(
        "The completions for fish are a script that it can read",
        .program("fish", of: "fish"))
    func fish() throws { try syntax("fish") }

    @Test(
        "bash completes commands, options and their values, also where no command is named",
        arguments: [
            (["ex"], ["explain"]), (["--up"], ["--upstream-proxy"]), (["--map", "x.yaml", "--no-p"], ["--no-proxy"]),
            (["--offline", "--bypass", ""], ["origin", "revalidate", "never"]), (["--map", ""], ["a.yaml"]),
            (["serve", "--log-format", ""], ["text", "json"]), (["check", ""], ["a.yaml"]),
            (["rec"], ["record"]), (["record", "--upd"], ["--update"]),
            (["record", "--mode", ""], ["once", "new_episodes", "all", "none"]),
            (["ca", "un"], ["uninstall"]), (["explain", "--me"], ["--method"]),
            (["ca", "install", "--stores", ""], ["system", "nss"]),
            (["help", "se"], ["serve", "session"]), (["help", "ca", "un"], ["uninstall"]),
            (["run", "--map", "a.yaml", "--", "base6"], ["base64"]),
            (["record", "-o", "x", "--", "cat", "b"], ["b.txt"]), (["replay", "x.har", "--", "cat", "--off"], []),
        ])
    func completion(words: [String], offered: [String]) throws {
        let files = TemporaryFolder()
        try files.write("a.yaml", "")
        try files.write("b.txt", "")
        try files.write(".completions", try script("bash").output)
        let shell = """
            source ./.completions
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*"
            COMP_POINT=${#COMP_LINE}
            complete=$(complete -p subproxy)
            ${complete##*-F} "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\\n' "${COMPREPLY[@]}" | uniq
            """
        let finished = try SubproxyProcess.run(
            ["-c", shell, "bash", "subproxy"] + words, program: "bash", folder: files.path)
        #expect(finished.output.split(separator: "\n").map(String.init) == offered, "\(finished.error)")
    }

    @Test(
        "fish completes another command behind '--', and the names of commands behind 'help'",
        .program("fish", of: "fish"),
        arguments: [
            ("help se", ["serve", "session"]), ("help ca un", ["uninstall"]), ("record -o x -- base6", ["base64"]),
            ("run --map a.yaml -- cat b", ["b.txt"]), ("rec", ["record"]),
        ])
    func completionOfFish(line: String, offered: [String]) throws {
        let files = TemporaryFolder()
        try files.write("b.txt", "")
        try files.write(".completions", try script("fish").output)
        let shell = "source .completions; complete -C $argv[1]"
        let finished = try SubproxyProcess.run(
            ["--no-config", "-c", shell, "subproxy \(line)"], program: "fish", folder: files.path)
        let found = finished.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
        #expect(found == offered, "\(finished.error)")
    }

    // MARK: Places

    @Test("make install puts a map in place that works, and make uninstall leaves nothing but an edited one")
    func install() throws {
        let files = TemporaryFolder()
        let stage = "\(files.path)/stage"
        // Without DESTDIR, so that the places that are written into files exist.
        let variables = [
            "RELEASE=\(SubproxyProcess.path)", "STRIP=", "PREFIX=\(stage)/usr", "SYSCONFDIR=\(stage)/etc", "DESTDIR=",
        ]
        func make(_ target: String) throws {
            let finished = try SubproxyProcess.run(["-s", "-C", package, target] + variables, program: "make")
            #expect(finished.status == 0, "\(finished.error)")
        }
        func installed() throws -> [String] {
            try SubproxyProcess.run([stage, "-type", "f", "-printf", "%P\\n"], program: "find")
                .output.split(separator: "\n").map(String.init).sorted()
        }
        try make("install")
        let names = try installed()
        for name in [
            "etc/subproxy/substitutions.yaml", "usr/bin/subproxy", "usr/lib/systemd/system/subproxy.service",
            "usr/share/bash-completion/completions/subproxy", "usr/share/fish/vendor_completions.d/subproxy.fish",
            "usr/share/man/man1/subproxy.1", "usr/share/man/man5/substitutions.yaml.5",
            "usr/share/zsh/site-functions/_subproxy",
        ] {
            #expect(names.contains(name))
        }
        let map = "\(stage)/etc/subproxy/substitutions.yaml"
        let check = try SubproxyProcess.run(["check", "--strict", map], program: "\(stage)/usr/bin/subproxy")
        #expect(check.status == 0, "\(check.error)")
        let unit = try textOfFile("\(stage)/usr/lib/systemd/system/subproxy.service")
        #expect(unit.contains("\(stage)/usr/bin/subproxy --map \(map)"))

        _ = try SubproxyProcess.run(["-i", "$a # edited", map], program: "sed")
        try make("install")
        #expect(try textOfFile(map).contains("# edited"))
        try make("uninstall")
        #expect(try installed() == ["etc/subproxy/substitutions.yaml"])
        try make("install")
        _ = try SubproxyProcess.run(["-i", "$d", map], program: "sed")
        try make("uninstall")
        #expect(try installed().isEmpty)
    }

    @Test("The changelog of the Debian package begins with the program's version")
    func version() throws {
        let version = try SubproxyProcess.run(["--version"]).output.words.last ?? ""
        #expect(try textOfFile("\(package)/config/debian/changelog").hasPrefix("subproxy (\(version)) "))
    }
}

/// An option as `--help` shows it.
private struct HelpOption {
    var names: [String]
    var value: String?
    var defaultValue: String?

    /// The values of the default: "127.0.0.1:8888; with a command, 127.0.0.1:0" has two.
    var defaults: [String] {
        guard let defaultValue else { return [] }
        return defaultValue.split(separator: ";").map { part in
            let words = String(part).words
            let condition = words.first == "with" ? words.prefix { !$0.hasSuffix(",") }.count + 1 : 0
            return words.dropFirst(condition).joined(separator: " ")
        }
    }

    /// All options of a help text but those that every command has.
    static func list(_ help: String) throws -> [HelpOption] {
        var entries: [String] = []
        for line in help.split(separator: "\n") {
            if line.hasPrefix("  -") {
                entries.append(String(line))
            } else if line.hasPrefix("    "), let last = entries.popLast() {
                entries.append(last + " " + line.drop { $0 == " " })
            }
        }
        return entries.filter { !$0.contains("  --version") && !$0.contains("--help") }.map { entry in
            let words = entry.words
            let names = words.prefix { $0.hasPrefix("-") }
                .map { $0.hasSuffix(",") ? String($0.dropLast()) : $0 }
            let rest = entry.split(separator: names.last ?? "", maxSplits: 1).last?.dropFirst() ?? ""
            let value = rest.hasPrefix("<") ? String(rest.dropFirst().prefix { $0 != ">" }) : nil
            let defaultValue = entry.split(separator: "(default: ").dropFirst().last.map { $0.prefix { $0 != ")" } }
            return HelpOption(names: names, value: value, defaultValue: defaultValue.map(String.init))
        }
    }
}

/// A page of the manual, in mdoc(7).
private struct ManualPage {
    /// An item of a list.
    struct Item {
        /// The words of its head, without macros, `--map` for `.Fl -map`.
        var head: [String]
        /// The words behind it, without macros.
        var text: String
    }

    private let lines: [Substring]

    init(_ name: String) throws {
        lines = try textOfFile("\(package)/docs/man/\(name)").split(separator: "\n")
    }

    /// The items of the lists of a section or subsection.
    func items(of section: String) throws -> [Item] {
        let body = lines.drop { $0 != ".Sh \(section)" && $0 != ".Ss \(section)" }.dropFirst()
            .prefix { !$0.hasPrefix(".Sh ") && !$0.hasPrefix(".Ss ") }
        try #require(!body.isEmpty, "no section \(section)")
        var items: [Item] = []
        for line in body {
            if line.hasPrefix(".It ") {
                items.append(Item(head: ManualPage.words(line.dropFirst(4)), text: ""))
            } else if !items.isEmpty {
                let words = line.hasPrefix(".") ? ManualPage.words(line.dropFirst()) : String(line).words
                items[items.count - 1].text += words.joined(separator: " ") + " "
            }
        }
        return items
    }

    /// The words of a line of macros.
    private static func words(_ line: Substring) -> [String] {
        var words: [String] = []
        var isFlag = false
        for word in String(line).words {
            switch word {
            case "Fl": isFlag = true
            case "Ar", "Cm", "Dv", "Ev", "Li", "Pa", "Ql", "Sx", "Xr", "Ns", "|": isFlag = false
            case ",", ":": continue
            default: words.append(isFlag ? "-\(word)" : word)
            }
        }
        return words
    }
}

extension String {
    /// What stands between blanks.
    fileprivate var words: [String] { split(whereSeparator: \.isWhitespace).map(String.init) }
}

private func textOfFile(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
