import Basics
import CLinux
import Glibc

/// A file that entries are appended to, locked for one recorder (flock(2)).
///
/// Short entries are gathered, and written together. Whatever ends the process, the file has whole entries, and of the
/// last one at most a part.
final class AppendedFile {
    /// So many bytes of short entries are written at once.
    static let gatheredMost = 256 << 10

    private let descriptor: CInt
    private let path: String
    /// What stands behind the last entry.
    private var tail: [UInt8]
    /// The bytes of the file as it was opened.
    let size: Int
    /// Where the next entry is written.
    private var end: Int
    /// The bytes that the file was left with.
    private var written: Int
    /// Whole entries that are not in the file yet, and where they end.
    private var gathered: [UInt8] = []
    private var ends: [Int] = []
    /// Where the next bytes of a long entry go.
    private var position = 0
    /// How many entries have been written.
    private(set) var entryCount = 0

    /// Opens a file, which is made if there is none.
    ///
    /// - Parameters:
    ///   - isPrivate: whether one that is made is for its owner alone.
    ///   - tail: what stands behind the last entry.
    init(_ path: String, isPrivate: Bool, tail: [UInt8] = []) throws(RecorderFailure) {
        self.path = path
        self.tail = tail
        let mode: mode_t = isPrivate ? 0o600 : 0o666
        let opened: CInt
        do throws(SystemError) {
            opened = try LockedFile.open(path, flags: O_RDWR | O_CREAT, mode: mode)
        } catch {
            throw RecorderFailure(locking: error, path)
        }
        var status = stat()
        guard fstat(opened, &status) == 0 else {
            let failure = SystemError()
            close(opened)
            throw .system("\(path): \(failure.text)")
        }
        descriptor = opened
        size = Int(status.st_size)
        end = max(0, size - tail.count)
        written = size
    }

    deinit { close(descriptor) }

    /// Makes it a file for its owner alone.
    func makePrivate() throws(RecorderFailure) {
        guard fchmod(descriptor, 0o600) == 0 else { throw failure(SystemError()) }
    }

    /// The last bytes of the file as it was opened, or all of them.
    func last(_ count: Int) -> [UInt8] { read(min(count, size), at: max(0, size - count)) }

    /// So many bytes may stand behind the last entry.
    static let longestTail = 4096

    /// Takes what stands behind a position for what stands behind the last entry.
    ///
    /// - Returns: whether `isTail` says so; else nothing has changed.
    func keepTail(from position: Int, _ isTail: ([UInt8]) -> Bool) -> Bool {
        guard position > 0, position < size, size - position <= AppendedFile.longestTail else { return false }
        let bytes = read(size - position, at: position)
        guard isTail(bytes) else { return false }
        tail = bytes
        end = position
        return true
    }

    /// The first bytes of the file as it was opened.
    func first(_ count: Int) -> [UInt8] { read(min(count, size), at: 0) }

    private func read(_ count: Int, at position: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        return pread(descriptor, &bytes, count, off_t(position)) == count ? bytes : []
    }

    /// Writes what a file begins with.
    func begin(_ bytes: [UInt8]) throws(RecorderFailure) { try append(isEntry: false, bytes) }

    /// Whether the file still has its name, and all that was written: it was neither removed, nor moved, nor replaced,
    /// nor cut.
    func isInPlace() throws(RecorderFailure) -> Bool {
        do throws(SystemError) {
            guard try LockedFile.hasName(descriptor, path) else { return false }
            return try hasAll()
        } catch {
            throw failure(error)
        }
    }

    /// Whether the file is as long as it was left, and ends its list where it did: who writes it anew in its place
    /// leaves other bytes there.
    private func hasAll() throws(SystemError) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemError() }
        return Int(status.st_size) >= written && (written == 0 || tail.isEmpty || read(tail.count, at: end) == tail)
    }

    // MARK: Short entries

    /// Takes an entry whose bytes `body` appends, to be written with others.
    ///
    /// - Throws: ``RecorderFailure`` where those that wait can't be written.
    func gather(_ body: (inout [UInt8]) -> Void) throws(RecorderFailure) {
        body(&gathered)
        ends.append(gathered.count)
        if gathered.count >= AppendedFile.gatheredMost { try writeGathered() }
    }

    /// Writes the entries that were gathered.
    ///
    /// - Throws: ``RecorderFailure`` where that fails: as many of them as there was room for are in the file.
    func writeGathered() throws(RecorderFailure) {
        guard !ends.isEmpty else { return }
        defer {
            gathered.removeAll(keepingCapacity: gathered.count <= 2 * AppendedFile.gatheredMost)
            ends.removeAll(keepingCapacity: true)
        }
        let count = gathered.count
        do throws(RecorderFailure) {
            gathered += tail
            try restoring { () throws(RecorderFailure) in
                try write(gathered[...], at: end)
                return end + count
            }
            entryCount += ends.count
        } catch {
            guard ends.count > 1, error != .gone else { throw error }
            var start = 0
            for entryEnd in ends {
                try append(isEntry: true, Array(gathered[start..<entryEnd]))
                start = entryEnd
            }
        }
    }

    private func append(isEntry: Bool, _ bytes: [UInt8]) throws(RecorderFailure) {
        try restoring { () throws(RecorderFailure) in
            try write((bytes + tail)[...], at: end)
            return end + bytes.count
        }
        if isEntry { entryCount += 1 }
    }

    // MARK: Long entries

    /// Appends the entry that `body` writes, piece by piece.
    func append(_ body: () throws(RecorderFailure) -> Void) throws(RecorderFailure) {
        try writeGathered()
        position = end
        try restoring { () throws(RecorderFailure) in
            try body()
            try write(tail[...], at: position)
            return position
        }
        entryCount += 1
    }

    /// Writes the next bytes of a long entry.
    func write(_ bytes: [UInt8]) throws(RecorderFailure) {
        try write(bytes[...], at: position)
        position += bytes.count
    }

    /// Writes all of a spooled body as the next bytes of a long entry; the kernel copies it where it can.
    func write(_ body: SpoolFile) throws(RecorderFailure) {
        var from: Int64 = 0
        while from < body.count {
            let copied = linux_copy(body.descriptor, &from, descriptor, Int64(position), body.count - Int(from))
            if copied > 0 {
                position += Int(copied)
                continue
            }
            let error = SystemError(CInt(-copied))
            if error.code == EINTR { continue }
            if error.code == ENOSPC || error.code == EDQUOT || error.code == EFBIG || error.code == EIO {
                throw failure(error)
            }
            return try copy(body, from: Int(from))
        }
    }

    /// The same by hand, where the kernel doesn't.
    func copy(_ body: SpoolFile, from start: Int) throws(RecorderFailure) {
        var from = start
        while from < body.count {
            let piece: [UInt8]
            do throws(SystemError) { piece = try body.read(AppendedFile.gatheredMost, at: from) } catch {
                throw failure(error)
            }
            guard !piece.isEmpty else { throw failure(SystemError(EIO)) }
            try write(piece)
            from += piece.count
        }
    }

    // MARK: Writing

    /// Gives the file back its length, and its tail, where `body` fails; does nothing to one that somebody has cut.
    ///
    /// - Returns: what `body` returns: where the next entry is to be written.
    private func restoring(_ body: () throws(RecorderFailure) -> Int) throws(RecorderFailure) {
        do throws(SystemError) {
            // What was written behind the end would have zeros before it.
            guard try hasAll() else { throw SystemError(ESTALE) }
        } catch {
            throw error.code == ESTALE ? .gone : failure(error)
        }
        do throws(RecorderFailure) {
            end = try body()
            written = end + tail.count
        } catch {
            guard size > 0 || end > 0 else {
                // Nothing has been written yet, the tail neither.
                _ = ftruncate(descriptor, 0)
                throw error
            }
            // The tail first: where it stood there is room for it, and behind a shorter file there may be none.
            _ = tail.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, tail.count, off_t(end)) }
            _ = ftruncate(descriptor, off_t(end + tail.count))
            throw error
        }
    }

    private func write(_ bytes: ArraySlice<UInt8>, at start: Int) throws(RecorderFailure) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                pwrite(
                    descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written, off_t(start + written))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure(count == 0 ? SystemError(ENOSPC) : SystemError()) }
            written += count
        }
    }

    private func failure(_ error: SystemError) -> RecorderFailure { .system("\(path): \(error.text)") }
}
