import Testing

@testable import Files

struct LookupTrailTests {
    private let sandbox = FileSandbox()

    /// The look-ups below the sandbox, `folder:name`, with `!` where it may be the file's own.
    private func trail(_ name: String) -> [String] {
        var steps: [String] = []
        LookupTrail.follow(sandbox.at(name).bytes) { folder, name, isLast in
            let folder = String(decoding: folder, as: UTF8.self)
            guard folder.hasPrefix(sandbox.path) else { return }
            let below = folder.dropFirst(sandbox.path.count)
            steps.append("\(below):\(String(decoding: name, as: UTF8.self))\(isLast ? "!" : "")")
        }
        return steps
    }

    @Test("Each folder on the way is visited with the name looked up in it")
    func plain() {
        sandbox.write("", to: "a/b/f")
        #expect(trail("a/b/f") == [":a", "/a:b", "/a/b:f!"])
        #expect(trail("a//./b/f") == [":a", "/a:b", "/a/b:f!"])
    }

    @Test("Links are followed as the kernel does, relative ones from their own folder")
    func links() {
        sandbox.write("", to: "data1/map")
        sandbox.link("conf/current", to: "../data1")
        sandbox.link("conf/map", to: "current/map")
        #expect(
            trail("conf/map") == [":conf", "/conf:map!", "/conf:current", ":data1", "/data1:map!"])
        sandbox.link("absolute", to: sandbox.at("data1/map"))
        #expect(trail("absolute") == [":absolute!", ":data1", "/data1:map!"])
        sandbox.link("d", to: "conf/current/..")
        #expect(trail("d/data1/map") == [":d", ":conf", "/conf:current", ":data1", ":data1", "/data1:map!"])
    }

    @Test("The trail ends at the first name that is not there")
    func missing() {
        sandbox.write("", to: "a/f")
        #expect(trail("a/none/f") == [":a", "/a:none"])
        #expect(trail("a/f/x").first == ":a")
        sandbox.link("dangling", to: "a/none")
        #expect(trail("dangling") == [":dangling!", ":a", "/a:none!"])
    }

    @Test("A loop of links ends")
    func loops() {
        sandbox.link("loop", to: "loop")
        #expect(trail("loop").count == 41)
    }

    @Test("A path above the top stays there")
    func top() {
        var names: [String] = []
        LookupTrail.follow("/../..//tmp/../tmp".bytes) { folder, name, _ in
            #expect(folder == "/".bytes)
            names.append(String(decoding: name, as: UTF8.self))
        }
        #expect(names == ["tmp", "tmp"])
    }
}
