import Basics
import Diagnostics
import ForwardProxy
import Logging
import NIOCore
import Substitution

/// The program's own messages while it serves.
///
/// Lines go through a ``LogSink``, since event loops log too and must not wait for a pipe that nobody reads.
struct ProgramMessages: Sendable {
    let logger: Logger
    let sink: LogSink
    private let format: LogFormat

    init(sink: LogSink, format: LogFormat, level: Logger.Level) {
        self.sink = sink
        self.format = format
        logger = Logger(label: "subproxy") { _ in
            StandardErrorLogHandler(logLevel: level, sink: sink, format: format)
        }
    }

    /// Prints a message about a map: as compilers do, or as the message of a JSON line.
    func report(_ diagnostic: MapDiagnostic) {
        let level: Logger.Level = diagnostic.isError ? .error : .warning
        guard level >= logger.logLevel else { return }
        switch format {
        case .text: sink.submit(ByteBuffer(string: diagnostic.rendering + "\n"))
        case .json: logger.log(level: level, "\(diagnostic.rendering)")
        }
    }

    /// Waits a moment for the lines that are still to be written.
    func flush() { sink.close() }
}

/// Prints a line for each message: `subproxy: warning: …`, or a JSON object.
struct StandardErrorLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    private let sink: LogSink
    private let format: LogFormat

    init(logLevel: Logger.Level, sink: LogSink, format: LogFormat) {
        self.logLevel = logLevel
        self.sink = sink
        self.format = format
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let details = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        var line: String
        switch format {
        case .text:
            line = "\(event.message)"
            for (key, value) in details { line += " \(key)=\(value)" }
            // Names in messages may come from a client.
            line = "subproxy: \(event.level): \(visibleText(of: line.utf8))"
        case .json:
            var object = JSONObjectText()
            object.add("time", WallTime.now().internetText)
            object.add("level", "\(event.level)")
            object.add("message", "\(event.message)")
            for (key, value) in details { object.add(key, "\(value)") }
            line = object.text
        }
        sink.submit(ByteBuffer(string: line + "\n"))
    }
}
