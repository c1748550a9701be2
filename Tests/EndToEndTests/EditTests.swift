import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Edits of maps and of mapped files, in the ways that editors and scripts make them.
    @Suite("Edits while it serves")
    struct Edits {
        enum Way: CaseIterable { case inPlace, renameOver, deleteAndWrite, symbolicLink }

        private static let url = "http://mapped.test/a"

        /// Offline, so that a map without the rule would show as 504.
        private func serve(_ rules: String, files: [String: String] = [:]) throws -> ServedMap {
            try ServedMap(rules, files: files, options: ["--offline"])
        }

        private func edit(_ served: ServedMap, _ name: String, _ text: String, _ way: Way) throws {
            let path = "\(served.folder.path)/\(name)"
            switch way {
            case .inPlace: try served.folder.write(name, text)
            case .renameOver:
                try served.folder.write("\(name).new", text)
                try #require(rename("\(path).new", path) == 0)
            case .deleteAndWrite:
                try #require(unlink(path) == 0)
                try served.folder.write(name, text)
            case .symbolicLink:
                let target = try served.folder.write("\(name).target", text)
                try #require(symlink(target, "\(path).link") == 0)
                try #require(rename("\(path).link", path) == 0)
            }
        }

        /// Asks until the text comes.
        ///
        /// - Parameter isAtOnce: whether each answer till then has to be the old text; a mapped file that is written in
        ///   place is empty, or not there, for a moment.
        private func expect(
            _ text: String, after old: String, _ served: ServedMap, isAtOnce: Bool = true
        ) throws {
            var other: [ProxyResponse] = []
            let client = try served.binary.connect()
            let hasCome = try Wait.holds {
                try client.sendRequest("GET", Edits.url)
                let response = try client.receiveResponse()
                if response.text == text { return true }
                if response.text != old { other.append(response) }
                return false
            }
            #expect(hasCome)
            #expect(!isAtOnce || other.isEmpty)
            #expect(try served.binary.get(Edits.url).text == text)
        }

        @Test(
            "An edit of the map is in force soon, and no request meets a map without its rules", arguments: Way.allCases
        )
        func mapEdit(way: Way) throws {
            let served = try serve("\(Edits.url): { text: old }")
            try expect("old", after: "old", served)
            try edit(served, "m.yaml", ServedMap.text("\(Edits.url): { text: new }"), way)
            try expect("new", after: "old", served)
            // And once more, since the first edit may have replaced what is watched.
            try edit(served, "m.yaml", ServedMap.text("\(Edits.url): { text: newest }"), .renameOver)
            try expect("newest", after: "new", served)
        }

        @Test("A bad edit is reported with its place, the old map stays in force, and a good one replaces it")
        func badEdit() throws {
            let served = try serve("\(Edits.url): { text: old }")
            try served.folder.write("m.yaml", ServedMap.text("\(Edits.url): { txt: new }"))
            #expect(Wait.holds { served.binary.process.error.contains("m.yaml:2:") })
            #expect(
                Wait.holds {
                    served.binary.process.error.contains("error: unknown option 'txt'; did you mean 'text'?")
                })
            #expect(try served.binary.get(Edits.url).text == "old")
            try served.folder.write("m.yaml", ServedMap.text("\(Edits.url): { text: new }"))
            try expect("new", after: "old", served)
        }

        @Test("A file that is included before it is there is read once it is")
        func laterInclude() throws {
            let served = try serve("\(Edits.url): { text: old }")
            let text = ServedMap.text("\(Edits.url): { text: new }")
            try served.folder.write("m.yaml", "include: [later.yaml]\n" + text)
            #expect(Wait.holds { served.binary.process.error.contains("the old ones stay in force") })
            #expect(try served.binary.get(Edits.url).text == "old")
            try served.folder.write("later.yaml", ServedMap.text("http://mapped.test/later: { text: x }"))
            try expect("new", after: "old", served)
        }

        @Test("A map that says where to listen is refused whole, and the proxy listens where it did")
        func listenerInMap() throws {
            let served = try serve("\(Edits.url): { text: old }")
            let (busy, port) = try Socket.listen()
            defer { busy.close() }
            try served.folder.write(
                "m.yaml", "listen: 127.0.0.1:\(port)\n" + ServedMap.text("\(Edits.url): { text: new }"))
            #expect(Wait.holds { served.binary.process.error.contains("m.yaml:1:1: error: ") })
            #expect(Wait.holds { served.binary.process.error.contains("'listen'") })
            #expect(Wait.holds { served.binary.process.error.contains("the old ones stay in force") })
            #expect(try served.binary.get(Edits.url).text == "old")
        }

        @Test("A map that is truncated, then written in two halves, is never served half")
        func twoSteps() throws {
            let served = try serve("\(Edits.url): { text: old }\nhttp://mapped.test/b: { text: b }")
            let path = served.mapPath
            let text = ServedMap.text("http://mapped.test/b: { text: b2 }\n\(Edits.url): { text: new }")
            let half = text.prefix(text.count - 8)
            try #require(truncate(path, 0) == 0)
            #expect(try Wait.keeps(for: 0.4) { try served.binary.get(Edits.url).text == "old" })
            try served.folder.write("m.yaml", String(half))
            #expect(try Wait.keeps(for: 0.4) { try served.binary.get(Edits.url).text == "old" })
            try served.folder.write("m.yaml", text)
            try expect("new", after: "old", served)
            #expect(try served.binary.get("http://mapped.test/b").text == "b2")
        }

        @Test(
            "An edit of a mapped file is in the next answers, with another entity tag",
            arguments: Way.allCases.dropLast())
        func fileEdit(way: Way) throws {
            let served = try serve("\(Edits.url): a.txt", files: ["a.txt": "old text"])
            try expect("old text", after: "old text", served)
            let old = try served.binary.get(Edits.url).field("ETag")
            // Of the same length, so that only its content tells.
            try edit(served, "a.txt", "new text", way)
            try expect("new text", after: "old text", served, isAtOnce: way == .renameOver)
            #expect(try served.binary.get(Edits.url).field("ETag") != old)
        }

        @Test("An edit that keeps length and modification time is seen too")
        func disguisedEdit() throws {
            let served = try serve("\(Edits.url): a.txt", files: ["a.txt": "old text", "reference": "x"])
            try expect("old text", after: "old text", served)
            let path = "\(served.folder.path)/a.txt"
            _ = try ChildProcess.run(["touch", "-r", path, "\(served.folder.path)/reference"])
            try served.folder.write("a.txt", "new text")
            _ = try ChildProcess.run(["touch", "-r", "\(served.folder.path)/reference", path])
            try expect("new text", after: "old text", served, isAtOnce: false)
        }

        @Test("A file that goes is an error with its path in the log, and is served again when it is back")
        func vanishingFile() throws {
            let served = try serve("\(Edits.url): a.txt", files: ["a.txt": "there"])
            try expect("there", after: "there", served)
            try #require(unlink("\(served.folder.path)/a.txt") == 0)
            #expect(try Wait.holds { try served.binary.get(Edits.url).status == 502 })
            #expect(Wait.holds { served.binary.log.contains("a.txt") })
            try served.folder.write("a.txt", "back")
            #expect(try Wait.holds { try served.binary.get(Edits.url).text == "back" })
        }

        @Test("A file that is replaced while it is sent arrives as it was")
        func replacedWhileSent() throws {
            let size = 40 * mebibyte
            let served = try serve(
                "\(Edits.url): a.txt", files: ["a.txt": String(repeating: "o", count: size)])
            let client = try served.binary.connect(receiveBuffer: 16384)
            try client.sendRequest("GET", Edits.url)
            #expect(try client.receiveResponseHead().field("Content-Length") == "\(size)")
            try edit(served, "a.txt", String(repeating: "n", count: size), .renameOver)
            let body = try client.receive(exactly: size)
            #expect(body.count == size)
            #expect(!body.contains(UInt8(ascii: "n")))
        }

        @Test("A file that is cut short while it is sent breaks the response off, and nothing else")
        func truncatedWhileSent() throws {
            let size = 50 * mebibyte
            let served = try serve(
                "\(Edits.url): a.txt\nhttp://mapped.test/b: { text: b }",
                files: ["a.txt": String(repeating: "o", count: size)])
            let client = try served.binary.connect(receiveBuffer: 16384)
            try client.sendRequest("GET", Edits.url)
            #expect(try client.receiveResponseHead().status == 200)
            #expect(try client.receive(exactly: 100_000).count == 100_000)
            try #require(truncate("\(served.folder.path)/a.txt", 1000) == 0)
            let rest = try client.receiveAll()
            #expect(rest.count < size - 100_000)
            #expect(try served.binary.get("http://mapped.test/b").text == "b")
            #expect(served.binary.processorShare(for: 1) < 0.25)
        }
    }
}
