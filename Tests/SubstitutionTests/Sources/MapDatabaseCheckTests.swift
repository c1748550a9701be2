import Diagnostics
import ProxyTestKit
import Testing

@testable import Substitution

@Suite struct MapDatabaseCheckTests {
    private let folder = TemporaryFolder()

    private func check(_ rules: String) throws -> [String] {
        try folder.write("m.yaml", "substitutions:\n\(rules)\n")
        let result = SubstitutionMap.load(files: ["\(folder.path)/m.yaml"])
        let map = try #require(result.map, "\(result.diagnostics.map(\.rendering))")
        return map.checkDatabases().map { $0.diagnostic.headline.replacing(folder.path + "/", with: "") }
    }

    @Test func `A database whose folder is missing can't be made there`() throws {
        try folder.write("s.sql", "CREATE TABLE t(id INTEGER PRIMARY KEY);")
        #expect(
            try check("  http://a/: { sqlite: sub/n.db, seed: s.sql, writes: file }") == [
                "m.yaml:2:47: warning: 'writes: file', but the folder 'sub' does not exist"
            ])
        #expect(try check("  http://a/: { sqlite: sub/n.db, seed: s.sql, writes: memory }").isEmpty)
    }

    @Test func `Seeds are looked at where the database's folder is missing`() throws {
        try folder.write("s.sql", "CREATE TABLE t(id INTEGER PRIMARY KEY);")
        let found = try check("  http://a/: { sqlite: sub/n.db, seed: s.sql, tables: [u] }")
        #expect(found.count == 1 && found.first?.contains("n.db has no table 'u'") == true, "\(found)")
    }
}
