import Archives
import Basics
import CLinux
import ForwardProxy
import Glibc
import NIOCore

/// What entries are appended to; one recorder at a time. All functions do I/O.
protocol RecorderOutput: AnyObject {
    /// Appends an entry, so that whatever ends the process meanwhile, what was there is readable. It may wait for
    /// ``settle()``.
    ///
    /// - Throws: ``RecorderFailure``; then what was written is as it was.
    func append(_ entry: RecordedEntry) throws(RecorderFailure)
    /// Writes what waits.
    ///
    /// - Throws: ``RecorderFailure``; then as many entries as there was room for are written.
    func settle() throws(RecorderFailure)
    /// Whether what was written is where it was begun, and nobody has removed or replaced it.
    ///
    /// - Throws: ``RecorderFailure`` where that can't be found out.
    func isInPlace() throws(RecorderFailure) -> Bool
    /// How many entries have been written.
    var entryCount: Int { get }
    /// What is needed of a long body when its entry is appended.
    func digests(for exchange: PackedExchange) -> SpoolDigests
    /// The mode of files that long bodies are kept in meanwhile.
    var spoolMode: mode_t { get }
}

extension RecorderOutput {
    func digests(for exchange: PackedExchange) -> SpoolDigests { .none }
    var spoolMode: mode_t { 0o600 }
}

/// A recording.
final class FolderOutput: RecorderOutput {
    private var writer: RecordingWriter
    private let options: RecorderOptions
    private(set) var entryCount = 0

    init(_ path: String, _ options: RecorderOptions) throws(RecorderFailure) {
        self.options = options
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
            try writer.append(entry.exchange, file: file(of: entry)) { () throws(ArchiveProblem) in try entry.stream() }
        } catch {
            throw RecorderFailure(error)
        }
        entryCount += 1
    }

    private func file(of entry: RecordedEntry) -> ReadyFile? {
        guard case .spooled(let spool) = entry.body, let spool = spool as? Spool, let file = spool.file,
            case .file(let digest) = spool.digests
        else { return nil }
        return ReadyFile(descriptor: file.descriptor, count: file.count, digest: digest)
    }

    func settle() {}

    func isInPlace() throws(RecorderFailure) -> Bool {
        do throws(RecordingFailure) { return try writer.isInPlace() } catch { throw RecorderFailure(error) }
    }

    func digests(for exchange: PackedExchange) -> SpoolDigests {
        let exchange = exchange.exchange()
        guard exchange.body.codings.isEmpty, options.redaction?.mayChange(exchange) != true else { return .none }
        return .file(BodyDigest())
    }

    /// As those of the recording's files: it becomes one.
    var spoolMode: mode_t { options.redaction == nil ? 0o600 : 0o666 }
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

/// A HAR: each entry is written over the end of the file, with the end behind it.
final class HAROutput: RecorderOutput {
    private let file: AppendedFile
    private var isEmpty: Bool
    private let limits = ArchiveLimits()

    init(_ path: String, _ options: RecorderOptions) throws(RecorderFailure) {
        file = try AppendedFile(path, isPrivate: options.redaction == nil, tail: HARWriter.end)
        isEmpty = try HAROutput.begin(file, options)
        // What is recorded from here on has all that was sent.
        if options.redaction == nil { try file.makePrivate() }
    }

    /// Finds the end of the list in what is there, or begins the file.
    ///
    /// - Returns: whether the list is empty.
    private static func begin(_ file: AppendedFile, _ options: RecorderOptions) throws(RecorderFailure) -> Bool {
        guard file.size > 0 else {
            try file.begin(HARWriter.beginning(name: options.program, version: options.version))
            return true
        }
        if let end = options.lastEntryEnd {
            guard file.keepTail(from: end, HARWriter.isEnd) else { throw .otherForm }
            return false
        }
        if file.size <= AppendedFile.longestTail, let list = HARWriter.emptyListEnd(file.first(file.size)) {
            guard file.keepTail(from: list, HARWriter.isEnd) else { throw .otherForm }
            return true
        }
        guard file.last(HARWriter.end.count + 1) == [UInt8(ascii: "}")] + HARWriter.end else { throw .otherForm }
        return false
    }

    func settle() throws(RecorderFailure) { try file.writeGathered() }
    func isInPlace() throws(RecorderFailure) -> Bool { try file.isInPlace() }
    var entryCount: Int { file.entryCount }

    func append(_ entry: RecordedEntry) throws(RecorderFailure) {
        var exchange = entry.exchange
        let (probe, isDecoded) = try probe(entry)
        if isDecoded, !exchange.body.codings.isEmpty { exchange.removeCodings() }
        var writer = HAREntryWriter(exchange, probe)
        let start = isEmpty ? [] : HARWriter.separator
        if case .memory(let pieces) = entry.body, probe.count <= AppendedFile.gatheredMost,
            entry.exchange.body.codings.isEmpty
        {
            try file.gather { bytes in
                bytes += start
                bytes += writer.begin()
                for piece in pieces { writer.append(Array(piece.readableBytesView), to: &bytes) }
                writer.finish(into: &bytes)
            }
        } else {
            try file.append { [file] () throws(RecorderFailure) in
                try file.write(start + writer.begin())
                var failure: RecorderFailure?
                var bytes: [UInt8] = []
                do throws(ArchiveProblem) {
                    let body = isDecoded ? try decoded(entry) : try entry.stream()
                    try body.forEachPiece { piece throws(ArchiveProblem) in
                        bytes.removeAll(keepingCapacity: true)
                        writer.append(piece, to: &bytes)
                        do throws(RecorderFailure) { try file.write(bytes) } catch {
                            failure = error
                            throw ArchiveProblem(.error, error.message)
                        }
                    }
                } catch {
                    throw failure ?? .system(error.message)
                }
                bytes.removeAll(keepingCapacity: true)
                writer.finish(into: &bytes)
                try file.write(bytes)
            }
        }
        isEmpty = false
    }

    /// Finds out how the body is to be written, and whether it can be decoded.
    private func probe(_ entry: RecordedEntry) throws(RecorderFailure) -> (HARBodyProbe, isDecoded: Bool) {
        var probe = HARBodyProbe()
        do throws(ArchiveProblem) {
            if entry.exchange.body.codings.isEmpty, !HAREntryWriter.isText(entry.exchange) {
                // It is base64, whatever it is.
                var start: [UInt8] = []
                var stream = try entry.stream()
                while start.count < HARBodyProbe.startCount,
                    try stream.read(HARBodyProbe.startCount - start.count, into: &start)
                {}
                return (HARBodyProbe(count: entry.exchange.body.storedBytes, start: start), true)
            }
            do throws(ArchiveProblem) {
                try decoded(entry).forEachPiece { piece throws(ArchiveProblem) in probe.add(piece) }
            } catch {
                // As it came, with its coding.
                probe = HARBodyProbe()
                try entry.stream().forEachPiece { piece throws(ArchiveProblem) in probe.add(piece) }
                return (probe, false)
            }
        } catch {
            throw .system(error.message)
        }
        return (probe, true)
    }

    private func decoded(_ entry: RecordedEntry) throws(ArchiveProblem) -> any BodyStream {
        try ContentDecoder.stream(
            try entry.stream(), codings: entry.exchange.body.codings, storedBytes: entry.exchange.body.storedBytes,
            limits: limits)
    }
}

/// A WARC: whole records one behind the other.
final class WARCOutput: RecorderOutput {
    private let file: AppendedFile
    private let isCompressed: Bool
    private let redaction: Redaction?
    private var writer: WARCWriter<BufferedRandomness>

    init(_ path: String, isCompressed: Bool, _ options: RecorderOptions) throws(RecorderFailure) {
        file = try AppendedFile(path, isPrivate: options.redaction == nil)
        self.isCompressed = isCompressed
        redaction = options.redaction
        do throws(ArchiveProblem) {
            writer = try WARCWriter(isCompressed: isCompressed, randomness: BufferedRandomness())
        } catch {
            throw .system(error.message)
        }
        guard file.size == 0 else {
            let isGzip = file.first(2) == [0x1F, 0x8B]
            if isGzip != isCompressed { throw .otherForm }
            // What is recorded from here on has all that was sent.
            if options.redaction == nil { try file.makePrivate() }
            return
        }
        let time = Int64(clamping: wallNanoseconds() / 1_000_000)
        try file.begin(writer.information(software: "\(options.program)/\(options.version)", time: time))
    }

    func settle() throws(RecorderFailure) { try file.writeGathered() }
    func isInPlace() throws(RecorderFailure) -> Bool { try file.isInPlace() }
    var entryCount: Int { file.entryCount }

    func digests(for exchange: PackedExchange) -> SpoolDigests {
        var exchange = exchange.exchange()
        // What is taken out of its body is not known yet.
        if redaction?.mayChange(exchange) == true { return .none }
        redaction?.redact(&exchange)
        return .record(WARCDigests(exchange))
    }

    func append(_ entry: RecordedEntry) throws(RecorderFailure) {
        let exchange = entry.exchange
        let time = exchange.time ?? 0
        switch entry.body {
        case .memory(let pieces):
            var digests = WARCDigests(exchange)
            for piece in pieces { piece.withUnsafeReadableBytes { digests.update($0) } }
            try file.gather { bytes in
                writer.begin(exchange, time: time, digests, into: &bytes)
                for piece in pieces { piece.withUnsafeReadableBytes { writer.put($0, into: &bytes) } }
                writer.finish(into: &bytes)
            }
        case .spooled(let spool):
            guard let spool = spool as? Spool, let body = spool.file else {
                throw .system("the body was not spooled")
            }
            try append(exchange, time, body, try digests(of: body, exchange, spool.digests))
        }
    }

    private func digests(
        of body: SpoolFile, _ exchange: RecordedExchange, _ known: SpoolDigests
    ) throws(RecorderFailure) -> WARCDigests {
        if case .record(let digests) = known, digests.fit(exchange), digests.count == body.count { return digests }
        var digests = WARCDigests(exchange)
        do throws(ArchiveProblem) {
            try SpoolStream(body).forEachPiece { piece throws(ArchiveProblem) in
                piece.withUnsafeBytes { digests.update($0) }
            }
        } catch {
            throw .system(error.message)
        }
        return digests
    }

    private func append(
        _ exchange: RecordedExchange, _ time: Int64, _ body: SpoolFile, _ digests: WARCDigests
    ) throws(RecorderFailure) {
        try file.append { [file] () throws(RecorderFailure) in
            var bytes: [UInt8] = []
            writer.begin(exchange, time: time, digests, into: &bytes)
            if isCompressed {
                var position = 0
                while position < body.count {
                    let piece: [UInt8]
                    do throws(SystemError) { piece = try body.read(FileReading.pieceSize, at: position) } catch {
                        throw .system(error.text)
                    }
                    guard !piece.isEmpty else { throw .system(SystemError(EIO).text) }
                    position += piece.count
                    writer.put(piece, into: &bytes)
                    if bytes.count >= AppendedFile.gatheredMost {
                        try file.write(bytes)
                        bytes.removeAll(keepingCapacity: true)
                    }
                }
            } else {
                try file.write(bytes)
                bytes.removeAll(keepingCapacity: true)
                try file.write(body)
            }
            writer.finish(into: &bytes)
            try file.write(bytes)
        }
    }
}

/// The system's randomness, asked for less often: each call is one of the system (getrandom(2)).
struct BufferedRandomness: RandomNumberGenerator {
    private var numbers: [UInt64] = []

    mutating func next() -> UInt64 {
        if let number = numbers.popLast() { return number }
        numbers = [UInt64](repeating: 0, count: 32)
        let count = numbers.withUnsafeMutableBytes { linux_random($0.baseAddress, $0.count) }
        guard count == Int64(numbers.count * 8), let number = numbers.popLast() else {
            numbers = []
            var system = SystemRandomNumberGenerator()
            return system.next()
        }
        return number
    }
}
