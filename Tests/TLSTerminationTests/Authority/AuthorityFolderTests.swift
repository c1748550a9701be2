import Glibc
import Testing

@testable import TLSTermination

@Suite("The authority's folder")
struct AuthorityFolderTests {
    @Test(
        "The folder is the one given, else the service's, else the user's",
        arguments: [
            ("/given", ["STATE_DIRECTORY": "/var/lib/subproxy", "HOME": "/home/u"], nil, "/given"),
            (nil, ["STATE_DIRECTORY": "/var/lib/subproxy", "XDG_DATA_HOME": "/d"], nil, "/var/lib/subproxy"),
            (nil, ["STATE_DIRECTORY": "/var/lib/a:/var/lib/b"], nil, "/var/lib/a"),
            (nil, ["STATE_DIRECTORY": "", "XDG_DATA_HOME": "/d"], nil, "/d/subproxy"),
            (nil, ["XDG_DATA_HOME": "/d/", "HOME": "/home/u"], nil, "/d/subproxy"),
            (nil, ["XDG_DATA_HOME": "relative", "HOME": "/home/u"], nil, "/home/u/.local/share/subproxy"),
            (nil, ["XDG_DATA_HOME": "", "HOME": "/home/u"], nil, "/home/u/.local/share/subproxy"),
            (nil, ["HOME": "/"], nil, "/.local/share/subproxy"),
            (nil, [:], "/home/v", "/home/v/.local/share/subproxy"),
            (nil, ["HOME": ""], "/home/v", "/home/v/.local/share/subproxy"),
        ] as [(String?, [String: String], String?, String)])
    func choice(given: String?, environment: [String: String], home: String?, expected: String) throws {
        #expect(try AuthorityFolder.path(given: given, variable: { environment[$0] }, home: { home }) == expected)
    }

    @Test("A folder that is given from here is told as an absolute one, since commands may run elsewhere")
    func relative() throws {
        let here = try #require(getcwd(nil, 0))
        defer { free(here) }
        #expect(try AuthorityFolder.path(given: "ca/mine") == "\(String(cString: here))/ca/mine")
    }

    @Test("Commands in messages name the folder, where a shell's command would take another one")
    func commands() {
        func command(_ folder: String, _ variables: [String: String] = ["HOME": "/home/u"]) -> String {
            AuthorityFolder.command("ca install", on: folder, variable: { variables[$0] })
        }
        #expect(command("/home/u/.local/share/subproxy") == "`subproxy ca install`")
        #expect(command("/srv/my ca") == "`subproxy ca install --ca-dir '/srv/my ca'`")
        let service = ["STATE_DIRECTORY": "/var/lib/subproxy", "HOME": "/home/u"]
        #expect(command("/var/lib/subproxy", service) == "`subproxy ca install --ca-dir /var/lib/subproxy`")
    }

    @Test("Where no folder is known, that is said", arguments: [nil, "", "a\0b"] as [String?])
    func unknown(given: String?) throws {
        let failure = #expect(throws: AuthorityFailure.self) {
            try AuthorityFolder.path(given: given, variable: { _ in nil }, home: { nil })
        }
        #expect(failure?.code == .noFolder)
    }

    @Test("The user database names a home directory where there is an entry")
    func account() throws {
        #expect(AuthorityFolder.accountHome()?.hasPrefix("/") ?? (Account.current == nil))
        #expect(!Account.machine.isEmpty)
    }
}
