import Testing

@testable import TLSTermination

@Suite("A table that gives up what was used least recently")
struct LeastRecentlyUsedTests {
    @Test("The least recently used goes first; looking and setting are uses")
    func order() {
        var table = LeastRecentlyUsed<String, Int>(capacity: 3)
        let displaced = [("a", 1), ("b", 2), ("c", 3)].map { table.insert($0.1, for: $0.0) }
        #expect(displaced == [nil, nil, nil])
        #expect(table.keys == ["c", "b", "a"])
        let used = [table.use("a"), table.use("z"), table.use("a")]
        #expect(used == [1, nil, 1])
        #expect(table.keys == ["a", "c", "b"])
        let gone = table.insert(4, for: "d")
        #expect(gone == 2)
        #expect(table.keys == ["d", "a", "c"])
        let replaced = table.insert(5, for: "c")
        #expect(replaced == 3)
        #expect(table.keys == ["c", "d", "a"])
        #expect(table.count == 3)
    }

    @Test("The table agrees with a plain list, whatever is done", arguments: [1, 2, 3, 7])
    func model(capacity: Int) {
        var table = LeastRecentlyUsed<Int, Int>(capacity: capacity)
        var list: [(key: Int, value: Int)] = []
        var seed: UInt64 = 42
        for step in 0..<2000 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let key = Int(seed >> 33) % (capacity * 2)
            let found = list.firstIndex { $0.key == key }
            if seed >> 32 & 1 == 0 {
                let value = table.use(key)
                #expect(value == found.map { list[$0].value })
                if let found { list.insert(list.remove(at: found), at: 0) }
            } else {
                let displaced = table.insert(step, for: key)
                let expected =
                    found.map { list.remove(at: $0).value } ?? (list.count == capacity ? list.removeLast().value : nil)
                #expect(displaced == expected)
                list.insert((key, step), at: 0)
            }
            #expect(table.keys == list.map(\.key))
        }
    }

    @Test("At least one is kept", arguments: [0, -1])
    func smallest(capacity: Int) {
        var table = LeastRecentlyUsed<Int, Int>(capacity: capacity)
        let displaced = [table.insert(1, for: 1), table.insert(2, for: 2)]
        #expect(displaced == [nil, 1])
        #expect(table.keys == [2])
    }
}
