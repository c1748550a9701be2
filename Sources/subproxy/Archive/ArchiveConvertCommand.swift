import Archives
import ArgumentParser
import Basics
import Glibc
import HTTPSemantics

/// `subproxy archive convert`: an archive of another format.
struct ArchiveConvertCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Convert archives into another format.",
        usage: "subproxy archive convert <in> … <out> [<options>]",
        discussion: """
            The last name's extension says the format: .har, .mhtml or .mht, .webarchive, .warc or .warc.gz; a name \
            without one, or with '/' at its end, is the folder of a recording. Several archives are written one after \
            the other. What the format can't hold is said on standard error.

            EXAMPLES:
              subproxy archive convert checkout.har checkout/
              subproxy archive convert site.wacz page.mhtml --main https://www.example.com/
              subproxy archive convert old.har new.har clean.har --redact default,x-session
            """)

    @Argument(
        help: ArgumentHelp("The archives, and behind them the one to write.", valueName: "in> … <out"),
        completion: .archives)
    var files: [String] = []

    @Option(
        help: ArgumentHelp(
            "The document of an .mhtml or .webarchive, and the first page of a .har (other formats have no pages); else it is the archives' own.",
            valueName: "url"),
        transform: RequestedURL.init)
    var main: RequestedURL?

    @Option(
        help: ArgumentHelp(
            """
            Fields, parameters and members of JSON whose values are taken out, with commas between; repeatable. 'default' stands for \
            those that hold credentials, as record takes them out.
            """, valueName: "names"),
        transform: OptionValue.redactedNames)
    var redact: [[String]] = []

    @Flag(help: "Replace what is there.")
    var force = false

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.signals.restore()
        guard let name = files.last, files.count > 1 else {
            throw ValidationError("name an archive and what to make of it, as in: archive convert a.har b.mhtml")
        }
        let kind = try ArchiveOutput.kind(of: name)
        let output = try ArchiveOutput(name, kind, replaces: force)
        let archives = try files.dropLast().map { file throws(CommandFailure) in try NamedArchive(file).archive }
        let conversion = Conversion(
            archives, redaction: redact.isEmpty ? nil : Redaction(names: redact.flatMap { $0 }),
            isInterrupted: { SignalMask.isAskedToEnd })
        var plan = try self.plan(conversion, kind)
        plan.isPrivate = output.isPrivate
        let result = try SignalMask.holdingEnds { () throws(CommandFailure) in
            try output.write { path throws(ConversionFailure) in try conversion.write(kind, to: path, plan) }
        }
        for (position, problem) in result.problems {
            StandardStream.error.writeLine("\(position): warning: \(problem.message)")
        }
        for line in result.losses { StandardStream.error.writeLine(line) }
        return .success
    }

    private func plan(_ conversion: Conversion, _ kind: ArchiveKind) throws -> ConversionPlan {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var plan = ConversionPlan(
            program: "subproxy", version: programVersion,
            time: Int64(now.tv_sec) &* 1000 &+ Int64(now.tv_nsec) / 1_000_000)
        do {
            if main == nil, kind.isPage {
                guard try conversion.addDocument(to: &plan) else {
                    throw CommandFailure(
                        status: .dataError,
                        message:
                            "there is no HTML with status 200 to be the document; --main URL says which entry is it")
                }
            } else {
                conversion.addPages(to: &plan)
                if let main { try choose(main, conversion, &plan) }
            }
        } catch let problem as ArchiveProblem {
            throw CommandFailure(status: .dataError, message: "the archive can't be read: \(problem.message)")
        }
        return plan
    }

    /// Puts the page that `--main` names before all others.
    private func choose(_ main: RequestedURL, _ conversion: Conversion, _ plan: inout ConversionPlan) throws {
        let url = main.uri.withBytes { Array($0) }
        guard let found = try conversion.entry(url) else {
            throw CommandFailure(status: .usage, message: "no entry answers a GET of \(main.uri.description)")
        }
        try conversion.choose(found, in: &plan)
    }
}
