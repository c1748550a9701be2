import Archives
import Basics
import ForwardProxy
import Glibc
import NIOCore

/// A long body on its way to where it is recorded: in a file without a name, beside the rest.
final class Spool: BodySpool {
    /// The exchange, as far as it is known when its body turns out to be long.
    let exchange: PackedExchange
    private let recorder: Recorder
    // Used by the writer's thread alone.
    nonisolated(unsafe) private(set) var file: SpoolFile?
    /// Those of all that was written.
    nonisolated(unsafe) private(set) var digests = SpoolDigests.none

    init(_ exchange: PackedExchange, _ recorder: Recorder) {
        self.exchange = exchange
        self.recorder = recorder
    }

    deinit {
        // Whoever has it last, an event loop doesn't wait for the disk.
        if let file = file.take() { recorder.letGo(of: file) }
    }

    func append(_ bytes: ByteBuffer, taken: @escaping @Sendable () -> Void) {
        recorder.append(bytes, to: self, taken: taken)
    }

    /// Writes the next bytes, on the writer's thread.
    func write(_ bytes: ByteBuffer, in folder: String, for output: (any RecorderOutput)?) throws(RecorderFailure) {
        do throws(SystemError) {
            if let file {
                try file.append(bytes)
            } else {
                let made = try SpoolFile(in: folder, mode: output?.spoolMode ?? 0o600)
                file = made
                digests = output?.digests(for: exchange) ?? .none
                try made.append(bytes)
            }
        } catch {
            throw .system("\(folder): \(error.text)")
        }
        bytes.withUnsafeReadableBytes { digests.update($0) }
    }

    /// The folder that a file is in.
    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// What an output needs to know of a body before it writes it, taken along as the body comes.
enum SpoolDigests {
    case none
    case record(WARCDigests)
    case file(BodyDigest)

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch consume self {
        case .none: self = .none
        case .record(var digests):
            digests.update(bytes)
            self = .record(digests)
        case .file(var digest):
            digest.update(bytes)
            self = .file(digest)
        }
    }
}

/// A file that nobody finds, and that is gone with the last who has it (open(2), O_TMPFILE).
final class SpoolFile: Sendable {
    let descriptor: CInt
    // Used by the writer's thread alone.
    nonisolated(unsafe) private(set) var count = 0

    init(in folder: String, mode: mode_t) throws(SystemError) {
        // O_TMPFILE, which Glibc's module leaves out since it is made of two others.
        let nameless = CInt(0o20_000_000) | O_DIRECTORY
        var opened = open(folder, nameless | O_RDWR | O_CLOEXEC, mode)
        if opened < 0, errno != ENOSPC, errno != EMFILE, errno != ENFILE {
            // A file system that knows no files without a name.
            var name = Array((folder + "/.subproxy-spool-XXXXXX").utf8CString)
            opened = mkstemp(&name)
            if opened >= 0 {
                unlink(name)
                _ = fcntl(opened, F_SETFD, FD_CLOEXEC)
            }
        }
        guard opened >= 0 else { throw SystemError() }
        descriptor = opened
    }

    deinit { close(descriptor) }

    func append(_ bytes: ByteBuffer) throws(SystemError) {
        var rest = bytes
        while rest.readableBytes > 0 {
            let result = rest.withUnsafeReadableBytes { write(descriptor, $0.baseAddress, $0.count) }
            if result < 0, errno == EINTR { continue }
            guard result > 0 else { throw result == 0 ? SystemError(ENOSPC) : SystemError() }
            rest.moveReaderIndex(forwardBy: result)
        }
        count += bytes.readableBytes
    }

    /// Reads from a position; fewer bytes at the end.
    func read(_ length: Int, at position: Int) throws(SystemError) -> [UInt8] {
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, filled in
            repeat {
                result = pread(descriptor, buffer.baseAddress, length, off_t(position))
            } while result < 0 && errno == EINTR
            filled = max(0, result)
        }
        guard result >= 0 else { throw SystemError() }
        return bytes
    }
}

/// Reads a spooled body from its beginning.
struct SpoolStream: BodyStream {
    private let file: SpoolFile
    private var position = 0

    init(_ file: SpoolFile) { self.file = file }

    mutating func read(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Bool {
        do throws(SystemError) {
            let piece = try file.read(min(max(count, 1), 1 << 20), at: position)
            position += piece.count
            bytes += piece
            guard !piece.isEmpty || position >= file.count else { throw SystemError(EIO) }
            return position < file.count
        } catch {
            throw ArchiveProblem(.error, "the body that was spooled can't be read: \(error.text)")
        }
    }
}
