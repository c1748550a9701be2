// What is tested here is internal to its module, which is built for that when it is built for debugging or fuzzing.
#if DEBUG || FUZZING
import HTTP1Invariants

@testable import Archives

/// Properties of recordings, whatever bytes their list is read from.
enum RecordingInvariants {
    static func check(_ bytes: [UInt8]) throws {
        var opened = false
        let input = ArchiveInput(name: "recording.yaml", bytes: ArchiveBytes(bytes)) { path in
            path == "file" ? ArchiveBytes(Array("content".utf8)) : nil
        }
        do throws(ArchiveProblem) {
            var contents = ArchiveContents()
            let reader = try RecordingReader.read(input, into: &contents)
            opened = true
            for index in 0..<contents.table.count {
                let place = contents.table[index].place
                let exchange = try reader.exchange(at: place)
                var stream = try reader.body(at: place)
                _ = try stream.readAll(limit: 1 << 24)
                _ = RecordingEntry.text(exchange, .empty, requestBody: nil)
            }
        } catch {
            // What has been read once can be read again, but for a file that is missing.
            let isMissing = error.message.contains("is missing")
            if opened, !isMissing { throw InvariantViolation("an entry can't be read again: \(error)") }
            if case .line(let line, let column) = error.place {
                try require(line > 0 && column > 0, "place \(line):\(column)")
            }
        }
    }
}
#endif
