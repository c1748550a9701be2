import Archives
import Basics
import Browser
import ForwardProxy
import Glibc
import HTTPSemantics
import JSON
import Logging
import NIOCore
import Recorder
import Substitution
import Synchronization
import TLSTermination
import TrustStores

/// Why nothing more is recorded, as the recorder's thread tells it.
private final class RecordingFailure: Sendable {
    private let failure = Mutex<RecorderFailure?>(nil)

    var value: RecorderFailure? { failure.withLock { $0 } }
    func set(_ value: RecorderFailure) { failure.withLock { $0 = value } }
}

/// The proxies that a page is saved through, in a folder that is gone with them: one that records, and where there are
/// maps, one behind it that answers by these. Their certificate authority is made for them.
final class SaveProxies {
    private let folder: ScratchFolder
    private let authority: CertificateAuthority
    private let options: OriginOptions
    private let recorder: Recorder
    private let recording: ProxyServer
    /// What answers by the maps; nil where there are none.
    private let mapped: ProxyServer?
    private let logs: [LogSink]
    private let report = ReplayReport()
    private let recordingFailure = RecordingFailure()
    private var isStopped = false

    /// - Parameters:
    ///   - url: the page's, whose host alone may be at an address of this machine or a private network.
    ///   - maps: the rules that answer before origins; nil for none.
    /// - Throws: ``CommandFailure``; nothing is left then.
    init(_ url: String, _ options: OriginOptions, maps: SubstitutionMap?) throws(CommandFailure) {
        self.options = options
        do throws(SystemError) {
            folder = try ScratchFolder(prefix: "subproxy-save-")
        } catch {
            throw CommandFailure(
                status: .cantCreate, message: "no folder can be made in '\(ScratchFolder.base())': \(error.text)")
        }
        var begun: Recorder?
        var started: ProxyServer?
        do {
            let path = folder.path
            authority = try CertificateAuthority.open(in: path + "/ca")
            var recorded = RecorderOptions(.warc(path + "/recorded.warc", isCompressed: false))
            // What is taken out of it is taken out when the archive is written.
            recorded.redaction = nil
            recorded.version = programVersion
            recorded.whenFailed = { [recordingFailure] failure in recordingFailure.set(failure) }
            let recorder = try Recorder(recorded)
            begun = recorder
            self.recorder = recorder
            let logs = try ["/log", "/mapped-log"].map { try LogSink(.file(path + $0)) }
            self.logs = logs
            var configuration = SaveProxies.configuration(options, authority: path + "/ca")
            SaveProxies.allowNear(url, options, &configuration)
            var recording = configuration
            if let maps {
                let origins = try ProxyServer(
                    configuration: configuration, map: maps, logSink: logs[1], logger: SaveProxies.silence)
                started = origins
                mapped = origins
                recording.resolve = []
                recording.upstreamProxy = SaveProxies.address(origins).map { "http://" + $0 }
                recording.noProxy = ""
                recording.allowsPrivateForLocal = true
                var bundle = options.originCA.flatMap { CertificateBundle(at: $0) } ?? .system(.ofThisProcess)
                bundle.add(AuthorityCertificate(authority, in: path + "/ca"))
                let file = path + "/trusted.pem"
                guard LocalFile.make(file, bundle.pem) else { throw SystemError() }
                recording.originCAFile = file
            } else {
                mapped = nil
            }
            recording.recorder = maps == nil ? recorder : MappedRecorder(recorder)
            recording.replay = report
            self.recording = try ProxyServer(
                configuration: recording, map: SaveProxies.emptyMap(), logSink: logs[0], logger: SaveProxies.silence)
        } catch {
            started?.stop()
            _ = begun?.finish()
            folder.remove()
            if let failure = error as? CommandFailure { throw failure }
            let reason = (error as? SystemError)?.text ?? (error as? RecorderFailure)?.message ?? "\(error)"
            throw CommandFailure(status: .systemError, message: "the proxy of the page can't be started: \(reason)")
        }
    }

    private static var silence: Logger { Logger(label: "subproxy") { _ in SwiftLogNoOpLogHandler() } }

    private static func configuration(_ options: OriginOptions?, authority: String) -> ProxyConfiguration {
        var configuration = ProxyConfiguration()
        if let address = try? SocketAddress(ipAddress: "127.0.0.1", port: 0) { configuration.listeners = [address] }
        options?.apply(to: &configuration)
        configuration.authorityFolder = authority
        configuration.decrypted = ["*"]
        configuration.threads = 1
        // Nobody else reads the page of somebody who is logged in, or adds to it.
        configuration.admitsOwnUserAlone = true
        configuration.logFormat = .json
        configuration.logsQueryValues = true
        // Any port is one that a page may have.
        configuration.connectPorts = Set(1...UInt16.max)
        // Nothing that is under way when they are stopped is of use any more.
        configuration.limits.shutdownGrace = .milliseconds(50)
        configuration.version = programVersion
        return configuration
    }

    private static func emptyMap() throws -> SubstitutionMap {
        var options = MapLoadOptions()
        options.mayBeNone = true
        guard let map = SubstitutionMap.load(files: [], options: options).map else { throw SystemError(EINVAL) }
        return map
    }

    private static func address(_ server: ProxyServer) -> String? {
        server.addresses.first?.port.map { "127.0.0.1:\($0)" }
    }

    /// Allows addresses that not everybody reaches where all of the page's host are such ones, and has it asked at
    /// these: its name may have others a moment later.
    ///
    /// A parent proxy is asked by name, and judges addresses itself: none of this program's own connections is for it.
    private static func allowNear(_ url: String, _ options: OriginOptions, _ configuration: inout ProxyConfiguration) {
        configuration.allowsPrivateForLocal = false
        guard let uri = try? TargetURI(String(url.prefix { $0 != "#" })), !configuration.asksParent(for: uri.host),
            let near = NearHost(uri, resolve: options.resolve)
        else { return }
        configuration.allowsPrivateForLocal = true
        if let entry = near.entry { configuration.resolve.append(entry) }
    }

    // MARK: The browser

    /// The proxy that the browser asks.
    var browserProxy: BrowserOptions.Proxy {
        BrowserOptions.Proxy(address: SaveProxies.address(recording) ?? "", trustedKeys: [authority.keyHash])
    }

    /// Why the last exchange with a URL has failed, as these proxies tell it; nil where they don't. They end for that.
    func reason(_ url: String) -> String? { reasons()[url] }

    /// The same for all URLs.
    func reasons() -> [String: String] {
        stop()
        for log in logs { log.close() }
        var reasons: [String: String] = [:]
        // What the proxy that answers by maps says is the reason of what the other one does.
        for name in ["/log", "/mapped-log"] {
            guard let bytes = try? FileReading.contents(of: folder.path + name, upTo: 64 << 20) else { continue }
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                guard let line = try? JSONReader.value(Array(line)), let url = line["url"]?.stringValue,
                    let outcome = line["outcome"]?.stringValue, outcome == "failed" || outcome == "refused",
                    let reason = line["reason"]?.stringValue
                else { continue }
                reasons[url] = reason
            }
        }
        return reasons
    }

    // MARK: Step 5

    /// What there is to write.
    struct Captured {
        /// The frozen documents, if there are any, and behind them what was recorded.
        let archives: [Archive]
        let documents: Int
        /// Of what was recorded: what the static page was answered from, and how much there was before it was loaded.
        let answered: Set<Int>
        let recordedBefore: Int

        var recorded: Archive? { archives.last }
    }

    /// Whether a page is to be saved as it came: it is no HTML, and nothing in it could run.
    func cameQuiet(_ page: FrozenPage, at url: String) throws(CommandFailure) -> Bool {
        guard !page.documents.isEmpty else { return false }
        recorder.flush()
        guard let recorded = try? archive("recorded.warc") else { throw unreadable }
        return FrozenDocuments(page, url, recorded).cameQuiet
    }

    /// Has the frozen documents answered, and what else was recorded, and records what is asked for beyond that.
    func answer(_ page: FrozenPage, at url: String) throws(CommandFailure) {
        recorder.flush()
        recordedBefore = recorder.entryCount
        var archives: [String] = []
        if !page.documents.isEmpty {
            // Where late frames came, it is written a second time.
            if documents > 0 { for name in ["frozen.warc", "page.yaml"] { unlink(folder.path + "/" + name) } }
            guard let recorded = try? archive("recorded.warc") else { throw unreadable }
            do {
                try FrozenDocuments(page, url, recorded).write(to: folder.path + "/frozen.warc")
            } catch {
                throw unwritable((error as? RecorderFailure)?.message ?? "\(error)")
            }
            documents = page.documents.count
            archives.append("frozen.warc")
        }
        archives.append("recorded.warc")
        let map = archives.map { "  - { file: \($0), match: strict, sequence: false }\n" }.joined()
        let path = folder.path + "/page.yaml"
        guard LocalFile.make(path, Array("archives:\n\(map)".utf8)) else { throw unwritable(SystemError().text) }
        var options = MapLoadOptions()
        options.archives.isAppended = true
        guard let loaded = SubstitutionMap.load(files: [path], options: options).map else { throw unreadable }
        recording.adopt(loaded)
    }

    private var documents = 0
    private var recordedBefore = 0

    /// Ends the recording.
    func finish() throws(CommandFailure) -> Captured {
        let answered = recording.map.archives.last.map { report.answered($0) } ?? []
        stop()
        let summary = recorder.finish()
        if let failure = summary.failure { throw unwritable(failure.message) }
        var archives: [Archive] = []
        if documents > 0 {
            guard let frozen = try? archive("frozen.warc") else { throw unreadable }
            archives.append(frozen)
        }
        guard let recorded = try? archive("recorded.warc") else { throw unreadable }
        archives.append(recorded)
        return Captured(
            archives: archives, documents: documents, answered: answered, recordedBefore: recordedBefore)
    }

    /// What is written: what was captured, and before what was recorded, the entries that are written with another
    /// one's response.
    func completed(_ selection: SavedEntries) throws(CommandFailure) -> [Archive] {
        guard !selection.followed.isEmpty, let recorded = selection.captured.recorded else {
            return selection.captured.archives
        }
        do {
            try FollowedRedirects(selection.followed, recorded).write(to: folder.path + "/followed.warc")
            let followed = try archive("followed.warc")
            return selection.captured.archives + [followed]
        } catch {
            throw unwritable((error as? RecorderFailure)?.message ?? "\(error)")
        }
    }

    private var unreadable: CommandFailure {
        if let failure = recordingFailure.value { return unwritable(failure.message) }
        return CommandFailure(
            status: .notLoaded, message: "nothing of the page was recorded: its response is not whole, or too long")
    }

    private func unwritable(_ why: String) -> CommandFailure {
        CommandFailure(status: .cantCreate, message: "'\(folder.path)' can't be written: \(why)")
    }

    private func archive(_ name: String) throws -> Archive {
        let path = folder.path + "/" + name
        return try Archive.open(ArchiveInput(ArchiveFile(path: path), name: path))
    }

    // MARK: Step 6

    /// A proxy that answers from an archive alone.
    func verifying(
        _ archive: String, _ match: ArchiveMatchMode, _ report: ReplayReport
    ) throws(CommandFailure) -> ProxyServer {
        var options = MapLoadOptions()
        options.archives.match = match
        options.archives.missing = .timeout
        let result = SubstitutionMap.load(files: [archive], options: options)
        guard let map = result.map else {
            for message in result.diagnostics { StandardStream.error.writeLine(message.rendering) }
            throw CommandFailure(status: .dataError, message: "'\(archive)' was written, and can't be read")
        }
        var configuration = SaveProxies.configuration(nil, authority: folder.path + "/ca")
        configuration.isOffline = true
        configuration.replay = report
        do {
            return try ProxyServer(
                configuration: configuration, map: map, logSink: LogSink(.file("/dev/null")),
                logger: SaveProxies.silence)
        } catch {
            throw CommandFailure(status: .systemError, message: "the proxy can't be started: \(error)")
        }
    }

    static func address(of server: ProxyServer) -> String { address(server) ?? "" }

    private func stop() {
        guard !isStopped else { return }
        isStopped = true
        recording.stop()
        mapped?.stop()
    }

    /// Ends what runs, and removes the folder.
    func close() {
        stop()
        _ = recorder.finish()
        for log in logs { log.close() }
        folder.remove()
    }
}
