#if DEBUG || FUZZING
import Foundation
import FuzzTargets
import Testing

/// Inputs that fuzzers have kept: small ones that reach all that they have found, and those that once broke a property.
@Suite("Kept inputs of fuzzers")
struct ReplayTests {
    /// The folder that the corpora are in.
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    static func inputs(_ kind: String, _ target: FuzzTarget) throws -> [URL] {
        let folder = folder.appending(path: "\(kind)/\(target.rawValue)")
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    }

    @Test("break no property of their target", arguments: FuzzTarget.allCases)
    func corpus(_ target: FuzzTarget) throws {
        let inputs = try Self.inputs("Corpus", target)
        #expect(!inputs.isEmpty)
        for input in try inputs + Self.inputs("Crashes", target) {
            #expect(throws: Never.self, "\(input.lastPathComponent)") {
                try target.check(Array(try Data(contentsOf: input)))
            }
        }
    }

    @Test("are answered at one time, however long that takes")
    func time() throws {
        let request = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"
        let answer = String(decoding: try ConnectionInvariants.answer(to: Array(request.utf8)), as: UTF8.self)
        #expect(answer.contains("\r\nDate: Wed, 18 Nov 2026 11:06:40 GMT\r\n"))
    }
}
#endif
