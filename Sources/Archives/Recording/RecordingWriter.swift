public import Basics
import Crypto
import Glibc
import HTTPSemantics

/// How a recording is written.
public struct RecordingOptions: Sendable {
    /// Whether only its owner may read it, as where nothing is taken out of it. The default is false.
    public var isPrivate = false
    /// Whether JSON is indented. The default is false: bodies are written as they came, but for codings.
    public var indentsJSON = false
    public var limits = ArchiveLimits()

    public init() {}
}

/// Why a recording can't be written.
public enum RecordingFailure: Error {
    /// A file of the recording can't be written or read.
    case system(SystemError)
    /// The body can't be read, or the recording that is there.
    case archive(ArchiveProblem)
    /// Another program writes it.
    case busy
    /// Nothing can be appended to what is there, since it is not in the form in which entries are written.
    case otherForm

    public var message: String {
        switch self {
        case .system(let error): error.text
        case .archive(let problem): problem.message
        case .busy: "another recorder writes it"
        case .otherForm: "its recording.yaml is not in the form in which entries are appended"
        }
    }
}

/// Writes a recording: a folder with `substitutions.yaml`, `recording.yaml` and the files of bodies.
///
/// An entry is appended when it is complete: first its body's file, then its lines in one write, so that a recording is
/// readable whenever the writing ends. Copies are of one recording: only one of them may write. All functions do I/O.
public struct RecordingWriter {
    /// The bytes of a body that are kept in memory until it is known whether a file has them.
    private static let memory = 1 << 18
    /// The bytes of a body in JSON that is indented.
    private static let indentedMost = 1 << 24
    /// Larger bodies of requests are files.
    private static let inlineMost = 1 << 16
    /// What the name of such a file has before its extension.
    static let requestMark = ".request"

    /// A file that an entry names.
    private struct Known {
        let path: [UInt8]
        let type: [UInt8]
        /// Nil where it has not been needed: the file was there before.
        var digest: [UInt8]?
    }

    private let files: RecordingFiles
    private let options: RecordingOptions
    private var names = RecordingNames()
    /// Files by their sizes.
    private var known: [Int: [Known]] = [:]
    /// How many entries it has.
    public private(set) var count = 0

    /// Begins a recording, or goes on with the one that is there.
    ///
    /// - Parameter folder: its path; the folder that it is in exists.
    /// - Throws: ``RecordingFailure``.
    public init(folder: String, options: RecordingOptions = RecordingOptions()) throws(RecordingFailure) {
        self.options = options
        do throws(SystemError) {
            files = try RecordingFiles(folder, isPrivate: options.isPrivate)
            try files.make("substitutions.yaml", Array(RecordingWriter.map.utf8))
            try files.make("recording.yaml", Array(RecordingWriter.beginning.utf8))
            try files.openList("recording.yaml")
        } catch {
            throw error.code == EWOULDBLOCK ? .busy : .system(error)
        }
        if files.hasOtherFiles {
            throw .archive(
                ArchiveProblem(.error, "'files' in it is a link, or no folder; nothing is written through it"))
        }
        files.protectList()
        try readKnown()
    }

    /// What `substitutions.yaml` is when it is written.
    static let map = """
        archives: [recording.yaml]

        # Rules come before what was recorded. An entry of recording.yaml becomes one here: its url is the key, 'method: X'
        # is 'methods: [X]', 'headers' is a mapping in which a name stands once, and 'request' is left out.
        #
        # substitutions:
        #   https://api.example.com/session: { json: { user: guest } }

        """

    static let beginning =
        "# What was asked and answered, in order. An edit of an entry counts at the next reload, one of its file at once.\n"

    /// Appends an entry.
    ///
    /// - Parameters:
    ///   - exchange: as it is to be written; nothing is taken out of it.
    ///   - file: one that has the response's body, if there is one: where it can be, it becomes the recording's.
    ///   - body: opens the response's body, with the content codings that the exchange tells; it is written without
    ///     them.
    /// - Throws: ``RecordingFailure``; then the recording is as it was.
    public mutating func append(
        _ exchange: RecordedExchange, file: ReadyFile? = nil, body: () throws(ArchiveProblem) -> any BodyStream
    ) throws(RecordingFailure) {
        var exchange = MultipartBoundary.settled(exchange)
        var place = RecordingEntry.Body.missing
        if !exchange.body.isMissing {
            if let path = try store(&exchange, file, body) { place = .file(path) } else { place = .empty }
        }
        var requestFile: [UInt8]?
        if let request = exchange.requestBody, request.count > RecordingWriter.inlineMost {
            let type = Redaction.type(exchange.requestFields)
            let stream = MemoryStream(request)
            requestFile = try store(stream, &exchange, type: type, mark: RecordingWriter.requestMark)
        }
        try add(RecordingEntry.text(exchange, place, requestBody: requestFile))
        count += 1
    }

    /// Whether what was written is still where it was: neither its list, which was not emptied either, nor its folder,
    /// nor that of the bodies was removed, moved or replaced.
    ///
    /// - Throws: ``RecordingFailure`` where that can't be found out.
    public func isInPlace() throws(RecordingFailure) -> Bool {
        do throws(SystemError) { return try files.hasList("recording.yaml") } catch { throw .system(error) }
    }

    // MARK: The list

    private mutating func add(_ lines: [UInt8]) throws(RecordingFailure) {
        var status = stat()
        guard fstat(files.list, &status) == 0 else { throw .system(SystemError()) }
        guard status.st_size > 0 || files.listSize == 0 else { throw .system(SystemError(ESTALE)) }
        // As somebody may have left it who has edited it.
        let isWithinLine = files.listEndsWithinLine(Int(status.st_size))
        guard Int(status.st_size) + lines.count < RecordingReader.sizeLimit else {
            let limit = RecordingReader.sizeLimit
            throw .archive(
                ArchiveProblem(.error, "recording.yaml would have more than \(limit) bytes, the most that is read"))
        }
        do throws(SystemError) {
            try RecordingFiles.write(isWithinLine ? [0x0A] + lines : lines, to: files.list)
            try files.noteListSize()
        } catch {
            // Without the part of the entry that was written.
            _ = ftruncate(files.list, status.st_size)
            throw .system(error)
        }
    }

    /// Learns which names and files the entries have that are there.
    private mutating func readKnown() throws(RecordingFailure) {
        let limit = RecordingReader.sizeLimit + 1
        guard let bytes = files.contents(Array("recording.yaml".utf8), limit: limit) else { return }
        let torn: Int?
        do throws(ArchiveProblem) {
            let reader = try RecordingReader(bytes) { [files] in files.size(Array($0.utf8)) != nil }
            count = reader.entryCount
            torn = reader.tornEntry
            try reader.forEachFile { path, type in learn(path, type) }
        } catch {
            throw .archive(error)
        }
        if let torn {
            // Of a writer that was killed.
            try system { () throws(SystemError) in try files.cutList(at: torn) }
        }
        guard RecordingWriter.canGrow(bytes[..<(torn ?? bytes.count)]) else { throw .otherForm }
        try system { () throws(SystemError) in try files.noteListSize() }
    }

    /// Whether entries can stand behind the last line of a list: one of YAML's block style whose document goes on, or
    /// none.
    private static func canGrow(_ list: ArraySlice<UInt8>) -> Bool {
        let lines = list.split(separator: 0x0A).filter { line in
            let first = line.first { ![0x20, 0x09, 0x0D].contains($0) }
            return first != nil && first != UInt8(ascii: "#") && !line.starts(with: "---".utf8)
        }
        guard let last = lines.last else { return true }
        return lines.contains { $0.starts(with: "- ".utf8) } && !last.starts(with: "...".utf8)
    }

    private mutating func learn(_ path: [UInt8], _ type: [UInt8]) {
        names.take(path)
        guard let size = files.size(path) else { return }
        known[size, default: []].append(Known(path: path, type: RecordingWriter.essence(type), digest: nil))
    }

    // MARK: Bodies

    /// Writes a response's body; nil for an empty one. What can't be decoded stays as it came, with its coding.
    private mutating func store(
        _ exchange: inout RecordedExchange, _ file: ReadyFile?,
        _ body: () throws(ArchiveProblem) -> any BodyStream
    ) throws(RecordingFailure) -> [UInt8]? {
        let type = exchange.value("content-type") ?? []
        if let file, exchange.body.codings.isEmpty, file.count > 0, !isIndented(exchange) {
            return try store(file, exchange, type)
        }
        if !exchange.body.codings.isEmpty {
            do throws(RecordingFailure) {
                let path = try store(try decoded(exchange.body, body), &exchange, type: type)
                exchange.removeCodings()
                return path
            } catch {
                guard case .archive = error else { throw error }
            }
        }
        var plain = RecordedBody()
        plain.storedBytes = exchange.body.storedBytes
        return try store(try decoded(plain, body), &exchange, type: type)
    }

    private func decoded(
        _ body: RecordedBody, _ open: () throws(ArchiveProblem) -> any BodyStream
    ) throws(RecordingFailure) -> any BodyStream {
        do throws(ArchiveProblem) {
            return try ContentDecoder.stream(
                try open(), codings: body.codings, storedBytes: body.storedBytes, limits: options.limits)
        } catch {
            throw .archive(error)
        }
    }

    /// Writes a body, unless a file has it already.
    ///
    /// - Returns: the file's path; nil for an empty body.
    private mutating func store(
        _ stream: any BodyStream, _ exchange: inout RecordedExchange, type: [UInt8], mark: String = ""
    ) throws(RecordingFailure) -> [UInt8]? {
        var source = BodySource(stream)
        let isIndented = mark.isEmpty && isIndented(exchange)
        var bytes = try source.read(isIndented ? RecordingWriter.indentedMost : RecordingWriter.memory)
        if isIndented, !source.isMore, let indented = JSONIndentation.indented(bytes), indented != bytes {
            bytes = indented
            exchange.removeDigests()
        }
        guard !bytes.isEmpty else { return nil }
        var digest = SHA256()
        digest.update(data: bytes)
        if !source.isMore {
            let sum = Array(digest.finalize())
            if let path = known(bytes.count, sum, type) { return path }
            return try write(bytes, nil, &digest, exchange, type, mark)
        }
        return try write(bytes, source, &digest, exchange, type, mark)
    }

    private func isIndented(_ exchange: RecordedExchange) -> Bool {
        options.indentsJSON && Redaction.isJSON(exchange)
    }

    /// Gives a file a name if no other one has its bytes.
    private mutating func store(
        _ file: ReadyFile, _ exchange: RecordedExchange, _ type: [UInt8]
    ) throws(RecordingFailure) -> [UInt8] {
        let sum = file.digest.value
        if let path = known(file.count, sum, type) { return path }
        do throws(RecordingFailure) {
            return try name(file.count, sum, exchange, type, "") { [files] path throws(SystemError) in
                if let isNamed = try files.link(file.descriptor, as: path) { return isNamed }
                let copy = try files.begin()
                defer { close(copy) }
                try file.forEachPiece { piece throws(SystemError) in try RecordingFiles.write(piece, to: copy) }
                return try files.finish(as: path)
            }
        } catch {
            files.discard()
            throw error
        }
    }

    /// Writes a file, and gives it a name if no other one has its bytes.
    private mutating func write(
        _ beginning: [UInt8], _ rest: BodySource?, _ digest: inout SHA256, _ exchange: RecordedExchange,
        _ type: [UInt8], _ mark: String
    ) throws(RecordingFailure) -> [UInt8] {
        do throws(RecordingFailure) {
            let descriptor = try system { () throws(SystemError) in try files.begin() }
            defer { close(descriptor) }
            var size = beginning.count
            try system { () throws(SystemError) in try RecordingFiles.write(beginning, to: descriptor) }
            if var rest {
                while rest.isMore {
                    let bytes = try rest.read(RecordingWriter.memory)
                    digest.update(data: bytes)
                    size += bytes.count
                    try system { () throws(SystemError) in try RecordingFiles.write(bytes, to: descriptor) }
                }
            }
            let sum = Array(digest.finalize())
            if let path = known(size, sum, type) {
                files.discard()
                return path
            }
            return try name(size, sum, exchange, type, mark) { [files] path throws(SystemError) in
                try files.finish(as: path)
            }
        } catch {
            files.discard()
            throw error
        }
    }

    /// - Parameter finish: gives the file a name.
    private mutating func name(
        _ size: Int, _ digest: [UInt8], _ exchange: RecordedExchange, _ type: [UInt8], _ mark: String,
        _ finish: ([UInt8]) throws(SystemError) -> RecordingFiles.Naming
    ) throws(RecordingFailure) -> [UInt8] {
        let essence = RecordingWriter.essence(type)
        while true {
            let path = names.name(exchange.url, method: exchange.method, type: type, mark: mark)
            let naming = try system { () throws(SystemError) in try finish(path) }
            switch naming {
            case .done: break
            case .isTaken:
                // A file that no entry names: of a writer that was killed, if it has the same bytes.
                guard files.size(path) == size, self.digest(path) == digest else { continue }
                files.discard()
            case .obstructed(let obstacle):
                guard obstacle.contains(UInt8(ascii: "/")) else { throw .system(SystemError(ENOTDIR)) }
                // As if it were a file: the folder gets another name.
                names.take(obstacle)
                continue
            }
            known[size, default: []].append(Known(path: path, type: essence, digest: digest))
            return path
        }
    }

    /// The file that has these bytes, and is of this type.
    private mutating func known(_ size: Int, _ digest: [UInt8], _ type: [UInt8]) -> [UInt8]? {
        let essence = RecordingWriter.essence(type)
        for index in (known[size] ?? []).indices {
            guard var file = known[size]?[index], file.type == essence else { continue }
            if file.digest == nil {
                file.digest = self.digest(file.path)
                known[size]?[index] = file
            }
            if file.digest == digest { return file.path }
        }
        return nil
    }

    private func digest(_ path: [UInt8]) -> [UInt8] {
        guard let descriptor = files.open(path) else { return [] }
        defer { close(descriptor) }
        var digest = SHA256()
        while let bytes = try? FileReading.next(of: descriptor), !bytes.isEmpty { digest.update(data: bytes) }
        return Array(digest.finalize())
    }

    private static func essence(_ type: [UInt8]) -> [UInt8] {
        type.prefix { $0 != UInt8(ascii: ";") }.filter { $0 > 0x20 }.map(\.asciiLowercased)
    }

    private func system<Result>(_ body: () throws(SystemError) -> Result) throws(RecordingFailure) -> Result {
        do throws(SystemError) { return try body() } catch { throw .system(error) }
    }
}

/// Reads a body in pieces of about a size.
private struct BodySource {
    private var stream: any BodyStream
    private(set) var isMore = true

    init(_ stream: any BodyStream) { self.stream = stream }

    /// The next bytes: `count` at least, where there are so many.
    mutating func read(_ count: Int) throws(RecordingFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        do throws(ArchiveProblem) {
            while isMore, bytes.count < count { isMore = try stream.read(FileReading.pieceSize, into: &bytes) }
        } catch {
            throw .archive(error)
        }
        return bytes
    }
}

extension RecordedExchange {
    /// Says that the body has been decoded.
    public mutating func removeCodings() {
        body.codings = []
        fields.removeAll { $0.isNamed("content-encoding") }
        removeDigests()
    }

    /// Takes out the digests of a body that is another now.
    public mutating func removeDigests() { fields.removeAll { $0.isDigest } }
}
