import Archives
import ArgumentParser
import Diagnostics

/// `subproxy archive list`: a line an entry.
struct ArchiveListCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the entries of an archive.",
        discussion: """
            A line an entry: its number, method, status, media type, the bytes of its decoded body, URL, and in \
            parentheses why it can't answer; '-' stands for what there is none of.
            """)

    @Flag(help: "Print a JSON object a line.")
    var json = false

    @Argument(
        help: ArgumentHelp("The archive, or the folder of a recording.", valueName: "file"), completion: .archives)
    var file: String

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.signals.restore()
        let named = try NamedArchive(file)
        var lines = ""
        for index in 0..<named.archive.table.count {
            let line: ArchiveListLine
            do throws(ArchiveProblem) {
                line = try ArchiveListLine(named, index)
            } catch {
                throw CommandFailure(
                    status: .dataError, message: "\(named.position(index)) can't be read: \(error.message)")
            }
            lines += (json ? line.json : line.text) + "\n"
            if lines.utf8.count > 1 << 15 {
                StandardStream.output.writeText(lines)
                lines = ""
            }
        }
        if !lines.isEmpty { StandardStream.output.writeText(lines) }
        return .success
    }
}

/// An entry as it is listed.
struct ArchiveListLine {
    private let number: Int
    private let position: String
    private let offset: Int
    private let method: String
    private let url: [UInt8]
    private let status: Int?
    private let type: String?
    private let size: Int?
    private let isUsable: Bool
    private let note: String?

    /// Reads an entry; says on standard error where its body can't be decoded.
    init(_ named: NamedArchive, _ index: Int) throws(ArchiveProblem) {
        let entry = named.archive.table[index]
        let exchange = try named.archive.exchange(index)
        number = index + 1
        position = named.position(index)
        offset = entry.place.offset
        method = exchange.method
        url = named.url(index, exchange)
        status = entry.status > 0 ? entry.status : nil
        type = exchange.value("content-type").flatMap { value in
            let type = visibleText(of: value.prefix { $0 != UInt8(ascii: ";") })
            let words = type.split(whereSeparator: \.isWhitespace)
            return words.isEmpty ? nil : words.joined(separator: "_")
        }
        isUsable = entry.isUsable
        note = entry.unusable?.words
        do throws(ArchiveProblem) {
            size = try named.size(index, exchange)
        } catch {
            size = nil
            var problem = error
            problem.severity = .warning
            problem.entry = number
            StandardStream.error.writeLine(problem.description(file: named.archive.name))
        }
    }

    /// `3 GET 200 text/html 5120 https://www.example.com/`.
    var text: String {
        let shown = visibleText(of: url).split(whereSeparator: \.isWhitespace).joined(separator: "%20")
        var words = [
            "\(number)", visibleText(of: method.utf8), status.map { "\($0)" } ?? "-", type ?? "-",
            size.map { "\($0)" } ?? "-",
        ]
        words.append(shown.isEmpty ? "-" : shown)
        if let note { words.append("(\(note))") }
        return words.joined(separator: " ")
    }

    var json: String {
        var object = JSONObjectText()
        object.add("position", position)
        object.add("offset", offset)
        object.add("method", method)
        object.add("url", url.isEmpty ? nil : String(decoding: url, as: UTF8.self))
        object.add("status", status)
        object.add("type", type)
        object.add("size", size)
        object.add("usable", isUsable)
        object.add("note", note)
        return object.text
    }
}
