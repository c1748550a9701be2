import Archives
import ArgumentParser
import Basics
import Files
import ForwardProxy

/// `subproxy archive cat`: the body of an entry.
struct ArchiveCatCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat",
        abstract: "Print the body of an entry, as it would be sent.",
        discussion: """
            The entry is named by its number from 1, or by its URL; in a WACZ also as data.warc.gz#12. Exits with 1 if \
            there is none, it has no response, or its body was not recorded.

            EXAMPLES:
              subproxy archive cat checkout.har 17
              subproxy archive cat -i page.mhtml https://www.example.com/
            """)

    @Flag(name: .short, help: "Print the status line and the fields before it.")
    var includeHead = false

    @Argument(
        help: ArgumentHelp("The archive, or the folder of a recording.", valueName: "file"), completion: .archives)
    var file: String

    @Argument(help: ArgumentHelp("The entry's number, or its URL.", valueName: "number|url"))
    var entry: String

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.signals.restore()
        let named = try NamedArchive(file)
        guard let index = named.entry(entry) else {
            throw CommandFailure(status: .failure, message: "'\(file)' has no entry '\(entry)'")
        }
        do throws(ArchiveProblem) {
            return try write(index, of: named)
        } catch {
            throw CommandFailure(
                status: .dataError, message: "\(named.position(index)) can't be read: \(error.message)")
        }
    }

    private func write(_ index: Int, of named: NamedArchive) throws(ArchiveProblem) -> ExitStatus {
        let (archive, position) = (named.archive, named.position(index))
        switch archive.table[index].unusable {
        case .failed?, .status?, .connect?:
            let why = archive.table[index].unusable?.words ?? ""
            StandardStream.error.writeLine("subproxy: error: \(position) has no response to print: \(why)")
            return .failure
        default: break
        }
        var exchange = try archive.exchange(index)
        exchange.body.codings = OutgoingFields.removableCodings(exchange)
        let isCut = archive.table[index].unusable == .bodyTruncated
        guard !exchange.body.isMissing && !isCut || exchange.method == "HEAD" else {
            let why = archive.table[index].unusable?.words ?? Unusable.bodyNotRecorded.words
            StandardStream.error.writeLine("subproxy: error: \(position) has no whole body: \(why)")
            return .failure
        }
        var stream: any BodyStream = MemoryStream([])
        // No Content and Reset Content are sent without a body, whatever is recorded.
        if !exchange.body.isMissing, exchange.status != 204, exchange.status != 205 {
            stream = try ContentDecoder.stream(
                try archive.openBody(index), codings: exchange.body.codings, storedBytes: exchange.body.storedBytes,
                limits: archive.limits)
        }
        // What can't be decoded shows before anything is printed, unless it is long.
        var bytes: [UInt8] = []
        var isMore = try stream.read(FileReading.pieceSize, into: &bytes)
        if includeHead {
            // The tag of what is kept in memory is made from all of it.
            while isMore, bytes.count <= RetentionLimits().file {
                isMore = try stream.read(FileReading.pieceSize, into: &bytes)
            }
            if exchange.body.isRewritten { try tellRewriting(&exchange, isMore ? archive.openBody(index) : stream) }
            let size = isMore ? (exchange.body.codings.isEmpty ? exchange.body.size : nil) : bytes.count
            let isKept = !isMore && bytes.count <= RetentionLimits().file
            let head = RecordedHead.bytes(
                exchange, size: size, body: isKept ? bytes : nil, state: named.state(index, exchange.body))
            guard StandardStream.output.write(head) else { return .ioError }
        }
        while true {
            guard StandardStream.output.write(bytes) else { return .ioError }
            guard isMore else { return .success }
            bytes.removeAll(keepingCapacity: true)
            isMore = try stream.read(FileReading.pieceSize, into: &bytes)
        }
    }

    /// Finds out whether anything in a body is rewritten, by what is left to read of it.
    private func tellRewriting(
        _ exchange: inout RecordedExchange, _ body: any BodyStream
    ) throws(ArchiveProblem) {
        var (body, size, isMore) = (body, 0, true)
        var bytes: [UInt8] = []
        while isMore {
            bytes.removeAll(keepingCapacity: true)
            isMore = try body.read(FileReading.pieceSize, into: &bytes)
            size += bytes.count
        }
        exchange.body.isRewritten = body.isRewritten
        exchange.body.size = exchange.body.size ?? size
    }
}
