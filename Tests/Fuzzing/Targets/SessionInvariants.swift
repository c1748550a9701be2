// What is tested here is internal to its module, which is built for that when it is built for debugging or fuzzing.
#if DEBUG || FUZZING
import Diagnostics
import HTTP1Invariants

@testable import Sessions

/// Properties of sessions, whatever bytes they are read from.
enum SessionInvariants {
    static func check(_ bytes: [UInt8]) throws {
        // Whatever comes first, what follows is also read as a block of LZ4, of the length that two bytes say.
        if bytes.count > 2 {
            let length = Int(bytes[0]) | Int(bytes[1]) << 8
            if let text = try? LZ4Block.decompress(bytes[2...], to: length) {
                try require(text.count == length, "\(text.count) bytes instead of \(length)")
            }
        }
        guard !FirefoxSession.isOne(bytes) else {
            if let tab = try? FirefoxSession.tab(nil, of: bytes) { try check(tab.session) }
            return
        }
        let session: SavedSession
        do throws(SessionError) {
            session = try SavedSession(bytes)
        } catch {
            guard let span = error.span else { return }
            try require(0...bytes.count ~= span.start.offset, "place \(span.start.offset)")
            _ = error.diagnostic(file: "s").rendered(source: bytes)
            return
        }
        try check(session)
    }

    /// What was read can be written, leads to pages alone, and can stand in a field of a message.
    private static func check(_ session: SavedSession) throws {
        try require(session.entries.indices.contains(session.current), "current \(session.current)")
        try require(session.entries.count <= 50, "\(session.entries.count) entries")
        for entry in session.entries {
            try require(entry.url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(entry.url)")
            let lowercased = entry.url.lowercased()
            try require(lowercased.hasPrefix("http://") || lowercased.hasPrefix("https://"), "\(entry.url)")
        }
        for text in [session.yaml, session.json] {
            let again = try? SavedSession(text)
            try require(again == session, "\(session) reads otherwise when it is written")
        }
    }
}
#endif
