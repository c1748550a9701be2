import Archives
import ForwardProxy
import Glibc
import NIOCore
import ProxyTestKit

@testable import Recorder

/// An exchange as a proxy hands it over.
func exchange(
    _ url: String = "http://a.test/", _ method: String = "GET", status: Int = 200, fields: [(String, String)] = [],
    sent: [(String, String)] = [], requestBody: String? = nil, stored: Int = 0
) -> RecordedExchange {
    var exchange = RecordedExchange()
    exchange.method = method
    exchange.url = Array(url.utf8)
    exchange.status = status
    exchange.reason = Array("OK".utf8)
    exchange.fields = fields.map { RecordedField($0.0, $0.1) }
    exchange.requestFields = sent.map { RecordedField($0.0, $0.1) }
    exchange.requestBody = requestBody.map { Array($0.utf8) }
    exchange.body.codings = ContentDecoder.codings(of: exchange.fields)
    exchange.body.storedBytes = stored
    exchange.body.size = stored
    exchange.time = 1_767_225_600_000
    exchange.duration = 5
    return exchange
}

func pieces(_ text: String) -> RecordedPieces { .memory([ByteBuffer(string: text)]) }

extension Recorder {
    /// Has an exchange written whose body is in memory.
    @discardableResult
    func record(_ exchange: RecordedExchange, _ body: String) -> Bool {
        var exchange = exchange
        exchange.body.storedBytes = body.utf8.count
        exchange.body.size = body.utf8.count
        return record(PackedExchange(exchange), body: pieces(body)) {}
    }
}

/// Opens what was recorded: the file, or the list of the folder, at a path.
func openArchive(_ path: String) throws -> Archive {
    var status = stat()
    let isFolder = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    let file = isFolder ? "\(path)/recording.yaml" : path
    return try Archive.open(
        ArchiveInput(
            name: file, bytes: ArchiveBytes(try contents(file)),
            sibling: { name in (try? contents("\(path)/\(name)")).map { ArchiveBytes($0) } }))
}

extension Archive {
    /// The body of an entry, decoded.
    func text(_ index: Int) throws -> String {
        let exchange = try exchange(index)
        var stream = try ContentDecoder.stream(
            try openBody(index), codings: exchange.body.codings, storedBytes: exchange.body.storedBytes, limits: limits)
        return String(decoding: try stream.readAll(limit: 1 << 30), as: UTF8.self)
    }
}

/// Waits for a signal that another thread gives.
final class Gate: Sendable {
    nonisolated(unsafe) private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func open() { sem_post(semaphore) }

    func wait() { while sem_wait(semaphore) != 0, errno == EINTR {} }
}
