import Archives
import Basics
import ForwardProxy
import Glibc
import Recorder
import Substitution
import Synchronization

/// A recorder for the length of a run, and what becomes of what it wrote.
final class RecordingRun: Sendable {
    let recorder: Recorder
    private let target: RecordTarget
    /// Where it is written until it takes its place; nil where it is written in its place.
    private let scratch: ScratchRecording?
    /// How many entries were there before.
    private let oldCount: Int
    private let keepsOld = Mutex(false)

    /// Records into what is there, or begins it.
    ///
    /// - Throws: ``CommandFailure`` with status 73 where it can't be written, also because another recorder does.
    static func append(
        to target: RecordTarget, _ options: RecordOptions, found: RecordTarget.Found?
    ) throws -> RecordingRun {
        var found = found
        if let found, found.format != target.kind.format {
            throw CommandFailure(
                status: .cantCreate,
                message: "'\(target.name)' can't be recorded: it is another format than its name says; rename it")
        }
        if let found, found.isTorn || found.format == .warc && found.entries > 0 { try mend(target, found) }
        func begin() throws(RecorderFailure) -> RecordingRun {
            try RecordingRun(target, options, nil, oldCount: found?.entries ?? 0, lastEntryEnd: found?.end)
        }
        do throws(RecorderFailure) {
            return try begin()
        } catch {
            guard error == .otherForm, target.kind.format == .har else { throw failure(error, target) }
            // Another recorder may have added to it since it was looked at.
            let now = try target.find()
            guard now?.end != found?.end else { throw failure(error, target) }
            found = now
        }
        do throws(RecorderFailure) { return try begin() } catch { throw failure(error, target) }
    }

    /// Not while another recorder writes there, whose entries would be lost. What one has written since it was looked
    /// at is looked at anew.
    private static func mend(_ target: RecordTarget, _ found: RecordTarget.Found) throws {
        let lock: FileLock?
        do throws(RecorderFailure) { lock = try FileLock(target.file) } catch { throw failure(error, target) }
        guard lock != nil else { return }
        try withExtendedLifetime(lock) {
            if found.format == .warc, found.entries > 0 {
                try target.mendWARC()
            } else if let found = try target.find(), found.isTorn {
                try target.mend(found)
            }
        }
    }

    /// Records beside what is there, in whose place it is put at the end.
    ///
    /// - Throws: ``CommandFailure`` with status 73 where it can't be written, also because another recorder does.
    static func anew(_ target: RecordTarget, _ options: RecordOptions) throws -> RecordingRun {
        do throws(RecorderFailure) {
            return try RecordingRun(
                target, options, try ScratchRecording(target, isPrivate: options.noRedact), oldCount: 0)
        } catch {
            throw failure(error, target)
        }
    }

    static func failure(_ failure: RecorderFailure, _ target: RecordTarget) -> CommandFailure {
        let isLink = failure != .busy && target.isLink
        let reason =
            isLink
            ? "it is a symbolic link, through which nothing is written"
            : failure == .otherForm ? otherForm(target) : failure.message
        return CommandFailure(
            status: .cantCreate, message: "'\(isLink ? target.file : target.name)' can't be recorded: \(reason)")
    }

    /// Why nothing can be appended to what is there, and what can be done.
    private static func otherForm(_ target: RecordTarget) -> String {
        switch target.kind.format {
        case .har:
            "it has no HAR's end right behind its entries; --mode all records anew, and 'subproxy archive convert' "
                + "makes one that can be added to"
        case .warc:
            "it is compressed and its name doesn't say so, or the other way round; name it .warc.gz if it is, else .warc"
        default:
            "its recording.yaml is not in the form in which entries are appended; end it with a whole entry, without "
                + "'...' and '[]'"
        }
    }

    private init(
        _ target: RecordTarget, _ options: RecordOptions, _ scratch: ScratchRecording?, oldCount: Int,
        lastEntryEnd: Int? = nil
    ) throws(RecorderFailure) {
        self.target = target
        self.scratch = scratch
        self.oldCount = oldCount
        var recording = RecorderOptions(target.output(at: scratch?.path ?? target.path))
        if options.noRedact {
            recording.redaction = nil
        } else if !options.redact.isEmpty {
            recording.redaction = Redaction(names: [Redaction.standardName] + options.redact.flatMap { $0 })
        }
        if let limit = options.bodyLimit { recording.bodyLimit = limit }
        recording.indentsJSON = options.prettyJson
        recording.version = programVersion
        recording.lastEntryEnd = lastEntryEnd
        let name = target.name
        recording.whenFailed = { failure in
            StandardStream.error.writeLine(
                "subproxy: error: '\(name)' can't be written, and nothing more is recorded: \(failure.message)")
        }
        do throws(RecorderFailure) {
            recorder = try Recorder(recording)
        } catch {
            // What another recorder writes is that one's.
            if error != .busy { scratch?.remove() }
            throw error
        }
    }

    /// Has the old recording stay as it was: the command was ended before it had come to its end.
    func keepOld() { keepsOld.withLock { $0 = true } }

    /// Ends it before anything has been served.
    func abandon() {
        _ = recorder.finish()
        scratch?.remove()
    }

    /// Writes what waits, puts it in its place, and says what it was.
    ///
    /// - Parameter status: that of the run.
    /// - Returns: the status to exit with.
    func finish(_ status: ExitStatus) -> ExitStatus {
        let summary = recorder.finish()
        var failure = summary.failure.map { _ in ExitStatus.ioError }
        if summary.failure == nil, summary.entries > 1, target.kind.format == .recording,
            let reason = sort(scratch?.path ?? target.path, summary.spans)
        {
            say(
                "error: the entries of '\(target.name)' can't be put into their order: \(reason); they are whole, in the order "
                    + "in which they were answered; --mode all records anew")
            failure = .ioError
        }
        var place = target.name
        // What stands in the place of one that is gone is somebody else's.
        if let scratch, summary.failure != .gone {
            if summary.entries == 0 {
                scratch.remove()
            } else if summary.failure != nil || scratch.hasOld && keepsOld.withLock(\.self) {
                place = scratch.path
                say("\(target.name) stays as it was; what was recorded is \(place)")
            } else if let reason = scratch.place() {
                place = scratch.path
                say("error: \(target.name) can't be replaced by \(scratch.path): \(reason)")
                failure = .cantCreate
            }
        }
        say(RecordingText.recorded(summary, to: place))
        if summary.entries == 0, scratch?.hasOld == true { say("\(target.name) stays as it was") }
        if let line = RecordingText.tunnelled(summary) { say(line) }
        if !target.namesList {
            say(
                "warning: \(target.name)substitutions.yaml does not name recording.yaml; 'archives: [recording.yaml]' does"
            )
        }
        if summary.credentials > 0 {
            let look = summary.credentials == 1 ? "looks like a credential" : "look like credentials"
            say(
                "warning: \(counted(summary.credentials, "member")) of JSON responses \(look); "
                    + "--redact NAME,… takes members of these names out")
        }
        return status == .success ? failure ?? status : status
    }

    /// Brings the entries that were recorded into their order. What can't be sorted stays as it is: it is whole.
    ///
    /// - Returns: why it can't be sorted; nil where it is, and where another recorder has begun to write there.
    private func sort(_ folder: String, _ spans: [RecordingOrder.Span]) -> String? {
        do {
            guard let lock = try FileLock(folder + "/recording.yaml") else { return nil }
            try withExtendedLifetime(lock) {
                try RecordingOrder.sort(folder, from: oldCount, spans: spans) { url in
                    ArchiveParameters.withoutBusters(url)
                }
            }
            return nil
        } catch {
            return switch error {
            case RecorderFailure.busy: nil
            // A list that a person has written on is not written anew.
            case RecordingFailure.otherForm where oldCount > 0: nil
            case let error as RecorderFailure: error.message
            case let error as RecordingFailure: error.message
            case let error as ArchiveProblem: error.message
            case let error as SystemError: error.text
            default: "\(error)"
            }
        }
    }

    private func say(_ line: String) { StandardStream.error.writeLine("subproxy: \(line)") }
}

/// What is said of a recording at its end.
enum RecordingText {
    /// `recorded 37 exchanges of 4 hosts (1.2 MB) to checkout/; 2 were not recorded: 1 failed, 1 upgraded`
    static func recorded(_ summary: RecorderSummary, to name: String) -> String {
        var line = "recorded \(counted(summary.entries, "exchange")) of \(counted(summary.hosts, "host"))"
        line += " (\(bytes(summary.bytes))) to \(name)"
        let others = summary.unrecorded.values.reduce(0, +)
        guard others > 0 else { return line }
        let reasons = summary.unrecorded.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        return line + "; \(others) \(others == 1 ? "was" : "were") not recorded: \(reasons.joined(separator: ", "))"
    }

    /// `3 hosts were tunnelled and not recorded: a.example:443 (12 connections); --decrypt`; nil for none.
    static func tunnelled(_ summary: RecorderSummary) -> String? {
        let tunnels = summary.tunnels.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        guard !tunnels.isEmpty else { return nil }
        var list = tunnels.prefix(10).map { "\($0.key) (\(counted($0.value, "connection")))" }
        if tunnels.count > 10 { list.append("and \(tunnels.count - 10) more") }
        let subject = tunnels.count == 1 ? "1 host was" : "\(tunnels.count) hosts were"
        return "\(subject) tunnelled and not recorded: \(list.joined(separator: ", ")); --decrypt"
    }

    /// `1.2 MB`, in units of 1000.
    static func bytes(_ count: Int) -> String {
        for (size, unit) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")] where count >= size {
            let tenths = count / (size / 10)
            return "\(tenths / 10).\(tenths % 10) \(unit)"
        }
        return count == 1 ? "1 byte" : "\(count) bytes"
    }
}
