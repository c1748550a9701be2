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
}
