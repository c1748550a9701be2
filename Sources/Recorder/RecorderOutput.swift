import Archives
import Basics
import Glibc

/// What entries are appended to; one recorder at a time. All functions do I/O.
protocol RecorderOutput: AnyObject {
    /// Appends an entry, so that whatever ends the process meanwhile, what was there is readable.
    ///
    /// - Throws: ``RecorderFailure``; then what was there is as it was.
    func append(_ entry: RecordedEntry) throws(RecorderFailure)
    func finish() throws(RecorderFailure)
}

/// A recording.
final class FolderOutput: RecorderOutput {
    private var writer: RecordingWriter

    init(_ path: String, _ options: RecorderOptions) throws(RecorderFailure) {
        var recording = RecordingOptions()
        recording.isPrivate = options.redaction == nil
        recording.indentsJSON = options.indentsJSON
        do throws(RecordingFailure) {
            writer = try RecordingWriter(folder: path, options: recording)
        } catch {
            throw RecorderFailure(error)
        }
    }

    func append(_ entry: RecordedEntry) throws(RecorderFailure) {
        do throws(RecordingFailure) {
            try writer.append(entry.exchange) { () throws(ArchiveProblem) in try entry.stream() }
        } catch {
            throw RecorderFailure(error)
        }
    }

    func finish() throws(RecorderFailure) {}
}

extension RecorderFailure {
    init(_ failure: RecordingFailure) {
        switch failure {
        case .busy: self = .busy
        case .otherForm: self = .otherForm
        case .system, .archive: self = .system(failure.message)
        }
    }
}

/// A file that entries are appended to, locked for one recorder (flock(2)).
final class AppendedFile {
    private let descriptor: CInt
    private let path: String
    /// Where the next entry begins.
    private(set) var end: Int
    private var position: Int
    private var buffer: [UInt8] = []

    /// Opens a file, which is made if there is none.
    init(_ path: String, isPrivate: Bool) throws(RecorderFailure) {
        self.path = path
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
        // What is recorded from here on has all that was sent.
        if isPrivate { fchmod(opened, 0o600) }
        descriptor = opened
        end = Int(status.st_size)
        position = end
    }

    deinit { close(descriptor) }

    /// The last bytes of the file, or all of them.
    func tail(_ count: Int) -> [UInt8] {
        let length = min(count, end)
        var bytes = [UInt8](repeating: 0, count: length)
        let result = pread(descriptor, &bytes, length, off_t(end - length))
        return result == length ? bytes : []
    }

    /// The first bytes of the file.
    func beginning(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: min(count, end))
        let result = pread(descriptor, &bytes, bytes.count, 0)
        return result == bytes.count ? bytes : []
    }

    /// Appends what `body` writes, from `offset` on, over what is there. Where that fails, the file gets back its length,
    /// and `tail` behind `offset`.
    func append(
        at offset: Int, restoring tail: [UInt8] = [], _ body: () throws(RecorderFailure) -> Void
    ) throws(RecorderFailure) {
        position = offset
        buffer.removeAll(keepingCapacity: true)
        do throws(RecorderFailure) {
            try body()
            try writeBuffer()
            end = position
        } catch {
            // The tail first: where it stood there is room for it, and behind a shorter file there may be none.
            _ = tail.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, tail.count, off_t(offset)) }
            _ = ftruncate(descriptor, off_t(offset + tail.count))
            throw error
        }
    }

    func write(_ bytes: [UInt8]) throws(RecorderFailure) {
        buffer += bytes
        if buffer.count >= FileReading.pieceSize { try writeBuffer() }
    }

    private func writeBuffer() throws(RecorderFailure) {
        var written = 0
        while written < buffer.count {
            let count = buffer.withUnsafeBytes { bytes in
                pwrite(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written, off_t(position))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw .system("\(path): \((count == 0 ? SystemError(ENOSPC) : SystemError()).text)")
            }
            written += count
            position += count
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// A HAR: each entry is written over the end of the file, with the end behind it.
final class HAROutput: RecorderOutput {
    private let file: AppendedFile
    private var isEmpty: Bool
    private let limits = ArchiveLimits()

    init(_ path: String, _ options: RecorderOptions) throws(RecorderFailure) {
        file = try AppendedFile(path, isPrivate: options.redaction == nil)
        let beginning = HARWriter.beginning(name: options.program, version: options.version)
        if file.end == 0 {
            try file.append(at: 0) { [file] () throws(RecorderFailure) in try file.write(beginning + HARWriter.end) }
        }
        guard file.tail(HARWriter.end.count) == HARWriter.end else { throw .otherForm }
        // Before the end stands an entry, or the list's bracket.
        let before = file.tail(HARWriter.end.count + 1).first
        guard before == UInt8(ascii: "[") || before == UInt8(ascii: "}") else { throw .otherForm }
        isEmpty = before == UInt8(ascii: "[")
    }

    func append(_ entry: RecordedEntry) throws(RecorderFailure) {
        var exchange = entry.exchange
        var probe = HARBodyProbe()
        var isDecoded = true
        do throws(ArchiveProblem) {
            do throws(ArchiveProblem) {
                try decoded(entry).forEachPiece { piece throws(ArchiveProblem) in probe.add(piece) }
            } catch {
                // As it came, with its coding.
                isDecoded = false
                probe = HARBodyProbe()
                try entry.stream().forEachPiece { piece throws(ArchiveProblem) in probe.add(piece) }
            }
        } catch {
            throw .system(error.message)
        }
        if isDecoded, !exchange.body.codings.isEmpty { exchange.removeCodings() }
        var details = HARDetails()
        details.duration = exchange.duration ?? 0
        var writer = HAREntryWriter(exchange, probe, details: details)
        let start = file.end - HARWriter.end.count
        try file.append(at: start, restoring: HARWriter.end) { [file, isEmpty] () throws(RecorderFailure) in
            try file.write((isEmpty ? [] : HARWriter.separator) + writer.begin())
            var failure: RecorderFailure?
            do throws(ArchiveProblem) {
                let body = isDecoded ? try decoded(entry) : try entry.stream()
                try body.forEachPiece { piece throws(ArchiveProblem) in
                    var bytes: [UInt8] = []
                    writer.append(piece, to: &bytes)
                    do throws(RecorderFailure) { try file.write(bytes) } catch {
                        failure = error
                        throw ArchiveProblem(.error, error.message)
                    }
                }
            } catch {
                throw failure ?? .system(error.message)
            }
            var bytes: [UInt8] = []
            writer.finish(into: &bytes)
            try file.write(bytes + HARWriter.end)
        }
        isEmpty = false
    }

    private func decoded(_ entry: RecordedEntry) throws(ArchiveProblem) -> any BodyStream {
        try ContentDecoder.stream(
            try entry.stream(), codings: entry.exchange.body.codings, storedBytes: entry.exchange.body.storedBytes,
            limits: limits)
    }

    func finish() throws(RecorderFailure) {}
}

/// A WARC: whole records one behind the other.
final class WARCOutput: RecorderOutput {
    private let file: AppendedFile
    private var writer: WARCWriter<SystemRandomNumberGenerator>

    init(_ path: String, isCompressed: Bool, _ options: RecorderOptions) throws(RecorderFailure) {
        file = try AppendedFile(path, isPrivate: options.redaction == nil)
        do throws(ArchiveProblem) {
            writer = try WARCWriter(isCompressed: isCompressed, randomness: SystemRandomNumberGenerator())
        } catch {
            throw .system(error.message)
        }
        guard file.end == 0 else {
            let isGzip = file.beginning(2) == [0x1F, 0x8B]
            if isGzip != isCompressed { throw .otherForm }
            return
        }
        let time = Int64(clamping: wallNanoseconds() / 1_000_000)
        let information = writer.information(software: "\(options.program)/\(options.version)", time: time)
        try file.append(at: 0) { [file] () throws(RecorderFailure) in try file.write(information) }
    }

    func append(_ entry: RecordedEntry) throws(RecorderFailure) {
        try file.append(at: file.end) { () throws(RecorderFailure) in
            var failure: RecorderFailure?
            do throws(ArchiveProblem) {
                try writer.append(
                    entry.exchange, time: entry.exchange.time ?? 0,
                    body: { () throws(ArchiveProblem) in try entry.stream() },
                    to: { [file] bytes throws(ArchiveProblem) in
                        do throws(RecorderFailure) { try file.write(copy bytes) } catch {
                            failure = error
                            throw ArchiveProblem(.error, error.message)
                        }
                    })
            } catch {
                throw failure ?? .system(error.message)
            }
        }
    }

    func finish() throws(RecorderFailure) {}
}
