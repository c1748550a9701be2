import Archives
import Basics
import Browser
import Diagnostics
import ForwardProxy
import Glibc

/// What became of a page that was saved.
struct SavedPage {
    let url: String
    let finalURL: String
    let title: String
    let time: WallTime
    let file: String
    /// As `--format` names it.
    let format: String
    let documents: Int
    let resources: Int
    /// Of all bodies, decoded.
    let bytes: Int
    let fileBytes: Int
    let droppedScripts: Int
    let requests: Int
    let misses: [ReplayReport.Miss]
    /// Why they were not loaded when the page was, by their URLs.
    private let reasons: [String: String]
    let missCount: Int
    /// URLs of frames that were loaded for the static copy alone.
    private let late: [String]
    private let isFrozen: Bool
    /// Error pages whose status the format does not hold.
    private let errors: [(url: String, status: Int)]

    /// - Throws: ``CommandFailure`` where what was written can't be read.
    init(
        _ save: PageSave, _ result: PageCapture.Result, _ selection: SavedEntries, _ archive: NamedArchive,
        _ answers: OfflineAnswers, _ proxies: SaveProxies
    ) throws(CommandFailure) {
        url = save.url
        finalURL = result.load.url
        title = result.page.title
        time = WallTime.now()
        file = save.name
        format = save.kind.extensions.first ?? "folder"
        var bytes = 0
        let count = archive.archive.table.count
        do throws(ArchiveProblem) {
            for index in 0..<count { bytes += try archive.size(index, archive.archive.exchange(index)) ?? 0 }
        } catch {
            throw CommandFailure(
                status: .dataError, message: "'\(file)' was written, and can't be read: \(error.message)")
        }
        self.bytes = bytes
        documents = min(count, max(1, result.page.documents.count))
        resources = count - documents
        fileBytes = SavedPage.size(of: file)
        droppedScripts = result.page.droppedScripts
        late = result.page.late
        isFrozen = !save.options.keepScripts
        errors = save.kind.isPage ? selection.errors : []
        misses = answers.misses
        missCount = answers.missCount
        reasons = misses.isEmpty ? [:] : proxies.reasons()
        requests = answers.requests
    }

    /// The bytes of a file, or of all files in a folder.
    private static func size(of path: String) -> Int {
        var status = stat()
        guard lstat(path, &status) == 0 else { return 0 }
        guard status.st_mode & S_IFMT == S_IFDIR else { return Int(status.st_size) }
        return FolderRemoval.names(in: path).reduce(0) { $0 + size(of: "\(path)/\($1)") }
    }

    // MARK: Forms

    /// For people: three lines, and one for each miss.
    var lines: [String] {
        let name = visibleText(of: title.utf8, limit: 200)
        var counts = "\(counted(documents, "document")), \(counted(resources, "resource")), "
        counts += "\(RecordingText.bytes(bytes)) (\(RecordingText.bytes(fileBytes)) in the file)"
        if isFrozen { counts += "; \(counted(droppedScripts, "script")) dropped" }
        return [
            "\(visibleText(of: file.utf8)): \(visibleText(of: finalURL.utf8))" + (title.isEmpty ? "" : " “\(name)”"),
            counts,
            verdict,
        ] + missLines
    }

    /// `verified: 39 of 39 requests answered offline`
    var verdict: String {
        "verified: \(requests - missCount) of \(counted(requests, "request")) answered offline"
    }

    var missLines: [String] {
        misses.map { miss in
            let times = miss.count > 1 ? " × \(miss.count)" : ""
            let why = reasons[miss.url].map { ": " + $0 } ?? ""
            return "missed: \(miss.method) \(visibleText(of: miss.url.utf8)) (\(miss.reason))\(times)\(why)"
        }
    }

    /// For standard error.
    var remarks: [String] {
        (late.isEmpty ? [] : [SavedPage.lateLine(late)]) + (errors.isEmpty ? [] : [errorsLine])
    }

    /// Says which frames were not frozen with the page, and what helps.
    static func lateLine(_ urls: [String]) -> String {
        let shown = urls.prefix(5).map { visibleText(of: $0.utf8) }
        let more = urls.count > shown.count ? ", and \(urls.count - shown.count) more" : ""
        let one = urls.count == 1
        return "subproxy: warning: when the page was frozen, "
            + "\(one ? "a frame" : "\(urls.count) frames") had not loaded or "
            + "did not answer, and \(one ? "is" : "are") saved without what scripts make of \(one ? "it" : "them"); "
            + "--wait 5s gives more time: \(shown.joined(separator: ", "))\(more)"
    }

    private var errorsLine: String {
        let shown = errors.prefix(5).map { "\(visibleText(of: $0.url.utf8)) (\($0.status))" }
        let more = errors.count > shown.count ? ", and \(errors.count - shown.count) more" : ""
        return "subproxy: warning: this format has no statuses, and "
            + (errors.count == 1 ? "an error page comes" : "\(errors.count) error pages come")
            + " back with 200: \(shown.joined(separator: ", "))\(more)"
    }

    var json: JSONObjectText {
        var object = JSONObjectText()
        object.add("url", url)
        object.add("final_url", finalURL)
        object.add("title", title)
        object.add("saved_at", time.internetText)
        object.add("file", file)
        object.add("format", format)
        object.add("documents", documents)
        object.add("resources", resources)
        object.add("bytes", bytes)
        object.add("file_bytes", fileBytes)
        object.add("scripts_dropped", droppedScripts)
        object.add(
            "misses",
            misses.map { miss in
                var object = JSONObjectText()
                object.add("method", miss.method)
                object.add("url", miss.url)
                object.add("count", miss.count)
                object.add("reason", miss.reason)
                return object
            })
        return object
    }
}
