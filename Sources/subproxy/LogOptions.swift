import ArgumentParser
import Basics
import ForwardProxy
import Glibc
import Logging
import NIOCore

/// Where the access log goes, and which messages of the program's own are printed.
struct LogOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Form of log lines: text or json. (default: text)", valueName: "form"),
        completion: .words(of: LogFormat.self), transform: OptionValue.choice)
    var logFormat: LogFormat?

    @Option(
        help: ArgumentHelp(
            "File that the access log is appended to; SIGHUP opens it anew. (default: standard output; with a command, none)",
            valueName: "file"),
        completion: .file())
    var logFile: String?

    @Option(
        help: ArgumentHelp(
            """
            Least severe of the program's own messages that are printed: trace, debug, info, notice, warning, error or \
            critical; from debug on the access log shows query values of unmapped URLs. (default: notice; with a \
            command, warning)
            """, valueName: "level"),
        completion: .words(of: Logger.Level.self), transform: OptionValue.choice)
    var logLevel: Logger.Level?

    /// Opens the access log.
    ///
    /// - Parameter fallback: where it goes if no file is named.
    func openSink(otherwise fallback: LogSink.Destination) throws -> LogSink {
        do {
            return try LogSink(logFile.map(LogSink.Destination.file) ?? fallback)
        } catch {
            var why = SystemError.text(of: error)
            if (error as? IOError)?.errnoCode == ENXIO, let logFile {
                var status = stat()
                let isPipe = stat(logFile, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
                why = isPipe ? "nobody reads the pipe" : "it can't be opened; without --log-file it is standard output"
            }
            throw CommandFailure(
                status: .cantCreate, message: "can't open the log file '\(logFile ?? "")': \(why)")
        }
    }

    /// The program's own messages, on standard error.
    func messages(defaultLevel: Logger.Level) throws -> ProgramMessages {
        ProgramMessages(
            sink: try LogSink(.descriptor(StandardStream.error.descriptor)), format: logFormat ?? .text,
            level: logLevel ?? defaultLevel)
    }
}
