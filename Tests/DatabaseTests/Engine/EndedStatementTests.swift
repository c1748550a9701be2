import Basics
import SQLite
import Testing

@testable import Database

/// Statements that a request ends while SQLite prepares them.
struct EndedStatementTests {
    @Test func `A statement that is ended while it is prepared was interrupted, and is not forbidden`() throws {
        let connection = try SQLiteConnection("", mode: .memory)
        try connection.execute("CREATE TABLE t(a)")
        var isEnded = true
        connection.goesOn = { !isEnded }
        connection.authorizer = { _ in true }
        var names: Set<String> = []
        // Not each of its actions asks whether it goes on.
        for _ in 0..<64 {
            do throws(SQLiteError) { _ = try connection.prepare("SELECT a FROM t") } catch { names.insert(error.name) }
        }
        #expect(names == ["SQLITE_INTERRUPT"])
        isEnded = false
        connection.authorizer = { SQLiteActionKind($0.code) != .read }
        let error = #expect(throws: SQLiteError.self) { try connection.prepare("SELECT a FROM t") }
        #expect(error?.name == "SQLITE_AUTH")
    }

    @Test(arguments: 0..<16)
    func `A view is listed though an earlier request was ended at any question while it was read`(
        actions: Int
    ) throws {
        var endings = 0
        for last in 0..<100 {
            let stage = try Stage("CREATE TABLE t(a); CREATE VIEW v AS SELECT a FROM t;")
            // One of sixteen actions asks: each of them comes to be the one that does.
            for _ in 0..<actions { _ = try stage.session.connection.prepare("SELECT 1") }
            var questions = 0
            stage.session.guardian = Guardian(limits: stage.rule.limits, now: monotonicNanoseconds()) {
                questions += 1
                return questions > last
            }
            do throws(SQLiteError) {
                _ = try stage.session.view(for: stage.rule, looks: true)
                break
            } catch {
                #expect(error.isInterrupt, "\(error)")
                endings += 1
            }
            stage.session.guardian = nil
            let names = try stage.session.view(for: stage.rule, looks: true).listed.map(\.name)
            #expect(names == ["t", "v"], "ended at question \(last)")
        }
        #expect((1..<100).contains(endings))
    }
}
