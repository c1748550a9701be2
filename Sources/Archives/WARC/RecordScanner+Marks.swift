import Glibc
import HTTPSemantics

// How a record is told by its first bytes.
extension RecordScanner {
    /// Where a record begins: `WARC/` at the beginning of a line, or, behind what was cut, anywhere, if a version, the end
    /// of the line and a field follow.
    static func findRecord(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var position = 0
        while position < bytes.count, let start = bytes.baseAddress.map({ $0 + position }),
            let found = memchr(start, 0x57, bytes.count - position)
        {
            position += UnsafeRawPointer(found) - start
            let rest = bytes.rebased(position..<bytes.count)
            if rest.begins(with: "WARC/") {
                if position > 0, bytes[position - 1] == 0x0A { return position }
                if isRecord(rest) { return position }
            }
            position += 1
        }
        return nil
    }

    /// Whether bytes begin with `WARC/1.1`, the end of a line, and `WARC-`.
    static func isRecord(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.begins(with: "WARC/1."), bytes.count > 8, (0x30...0x39).contains(bytes[7]) else { return false }
        let line = bytes[8...].prefix(mostReturns + 1).drop { $0 == 0x0D }
        guard line.first == 0x0A else { return false }
        return bytes.rebased(line.startIndex + 1..<bytes.count).begins(with: "WARC-")
    }

    /// The most CR that end a line of which a record may begin behind what was cut.
    private static let mostReturns = 8
    /// The most bytes that tell that a record begins, with the one before it.
    static let mostMarkBytes = 32

    /// Whether bytes are the beginning of `WARC/`, and not all of it.
    static func isCutMark(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count < 5 && bytes.elementsEqual("WARC/".utf8.prefix(bytes.count))
    }
}
