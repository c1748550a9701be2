import Files
import ProxyTestKit
import Substitution
import Testing

@testable import ForwardProxy

@Suite("What event loops share")
struct ProxyCoreTests {
    @Test("keeps a folder for as long as the map names it, or somebody uses it")
    func folders() throws {
        let stage = try LoopStage("substitutions:\n  http://a.test/: { text: x }\n")
        let root = try #require(stage.context.map.roots.first)
        let kept = stage.core.folder(root)
        weak var gone: AnyObject?
        do {
            let folder = stage.core.folder("/no/root/of/the/map")
            gone = folder
            stage.core.keepFolders(of: stage.context.map)
            #expect(stage.core.folder("/no/root/of/the/map") !== folder)
        }
        stage.core.keepFolders(of: stage.context.map)
        #expect(gone == nil)
        #expect(stage.core.folder(root) === kept)
    }

    @Test("has no files of a map that another one has taken the place of")
    func adopted() throws {
        let proxy = try TestProxy(
            "root: one\nsubstitutions:\n  http://a.test/f: f.txt\n", files: ["one/f.txt": "1", "two/f.txt": "2"])
        #expect(try proxy.exchange("GET", "http://a.test/f").body == "1")
        #expect(proxy.server.core.files.statistics.entries == 1)
        try proxy.write("root: two\nsubstitutions:\n  http://a.test/f: f.txt\n", to: "m.yaml")
        proxy.server.adopt(try #require(SubstitutionMap.load(files: ["\(proxy.folder)/m.yaml"]).map))
        #expect(proxy.server.core.files.statistics.entries == 0)
        #expect(try proxy.exchange("GET", "http://a.test/f").body == "2")
    }

    @Test("has no template, nor its folder, of a map that another one has taken the place of")
    func adoptedTemplate() throws {
        let rules = "substitutions:\n  http://a.test/f: { template: f.txt }\n"
        let proxy = try TestProxy("root: one\n\(rules)", files: ["one/f.txt": "1", "two/f.txt": "2"])
        #expect(try proxy.exchange("GET", "http://a.test/f").body == "1")
        weak var folder: FolderRoot?
        folder = try proxy.server.core.folder(#require(proxy.server.map.roots.first))
        #expect(folder != nil)
        try proxy.write("root: two\n\(rules)", to: "m.yaml")
        proxy.server.adopt(try #require(SubstitutionMap.load(files: ["\(proxy.folder)/m.yaml"]).map))
        // The thread that has read the template, and the connection, let go of it in their own time.
        #expect(Wait.holds { folder == nil })
        #expect(try proxy.exchange("GET", "http://a.test/f").body == "2")
    }
}
