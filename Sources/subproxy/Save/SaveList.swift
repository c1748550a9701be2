import Archives
import Basics
import Browser
import Diagnostics
import Dispatch
import Glibc
import Synchronization

/// What is written of each of many pages.
enum SaveFormat: String, CaseIterable {
    case mhtml, webarchive, har, warc
    case compressedWARC = "warc.gz"
    case folder

    var ending: String { self == .folder ? "/" : "." + rawValue }
}

/// Saves many pages, some at a time, and goes on where one can't be saved. Each has a browser of its own, so that none
/// sees another one's cookies.
final class SaveList: Sendable {
    private struct Job: Sendable {
        let url: String
        let name: String
    }

    private struct State {
        var next = 0
        var saved = 0
        var withMisses = 0
        var failed = 0
        var failure: ExitStatus?
    }

    private let command: SaveCommand
    private let executable: String
    private let jobs: [Job]
    private let folder: String
    private let signals: SaveSignals
    private let state = Mutex(State())
    private let folders: Mutex<PageFolders>

    /// - Throws: ``CommandFailure`` where the list can't be read, or has a line that is no URL.
    init(command: SaveCommand, input: String, folder: String, signals: SaveSignals) throws {
        self.command = command
        self.signals = signals
        var folder = folder
        while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
        self.folder = folder
        folders = Mutex(PageFolders(top: folder))
        executable = try command.executable()
        let format = command.format ?? .mhtml
        _ = try command.kind(of: "page" + format.ending)
        jobs = try SaveList.urls(input, ending: format.ending).map {
            Job(url: $0, name: "\(folder)/\($1)\(format.ending)")
        }
    }

    /// The URLs of a list, each once, and the names of their files without an ending.
    private static func urls(_ input: String, ending: String) throws -> [(url: String, name: String)] {
        var bytes: [UInt8]
        do throws(SystemError) {
            bytes =
                input == "-"
                ? try FileReading.contents(of: STDIN_FILENO, upTo: 64 << 20)
                : try FileReading.contents(of: input, upTo: 64 << 20)
        } catch {
            throw CommandFailure(status: .noInput, message: "the list '\(input)' can't be read: \(error.text)")
        }
        // A byte order mark is no part of the first line.
        bytes.removeFirst(byteOrderMarkLength(bytes))
        var seen: Set<String> = []
        var names = RecordingNames()
        var taken = TakenNames()
        var urls: [(url: String, name: String)] = []
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let text = line.trimmed
            guard let first = text.first, first != UInt8(ascii: "#") else { continue }
            let url: String
            do { url = try SaveValue.url(text) } catch {
                throw CommandFailure(
                    status: .dataError,
                    message: "\(input):\(index + 1): '\(visibleText(of: text, limit: 100))' \(error)")
            }
            guard seen.insert(url).inserted else { continue }
            var name = String(decoding: names.name(Array(url.utf8), method: "GET", type: []), as: UTF8.self)
            name.removeFirst("files/".count)
            for ending in [".html", ".htm"] where name.hasSuffix(ending) { name.removeLast(ending.count) }
            urls.append((url, taken.free(name, ending: ending)))
        }
        guard !urls.isEmpty else {
            throw CommandFailure(status: .dataError, message: "the list '\(input)' has no URL")
        }
        return urls
    }

    func run() throws -> ExitStatus {
        let usual = command.options.userDataDir == nil ? max(1, min(4, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))) : 1
        let count = min(command.jobs ?? usual, jobs.count)
        let group = DispatchGroup()
        for _ in 0..<count {
            DispatchQueue.global(qos: .userInitiated).async(group: group) { [self] in work() }
        }
        group.wait()
        if let status = signals.status { return status }
        let state = state.withLock { $0 }
        var line = "subproxy: saved \(state.saved) of \(counted(jobs.count, "page")) to \(folder)/"
        if state.failed > 0 { line += "; \(state.failed) failed" }
        if state.withMisses > 0 {
            line +=
                "; \(state.withMisses) asked for what \(state.withMisses == 1 ? "its file lacks" : "their files lack")"
        }
        StandardStream.error.writeLine(line)
        return state.failure ?? (state.withMisses > 0 ? .failure : .success)
    }

    private func work() {
        while signals.status == nil {
            let index = state.withLock { state in
                defer { state.next += 1 }
                return state.next
            }
            guard index < jobs.count else { return }
            save(jobs[index], number: index + 1)
        }
    }

    private func save(_ job: Job, number: Int) {
        do throws(CommandFailure) {
            folders.withLock { $0.enter(job.name) }
            defer { folders.withLock { $0.leave(job.name) } }
            try makeFolder(job)
            var save = PageSave(
                options: command.options, url: job.url, name: job.name, kind: try command.kind(of: job.name),
                executable: executable, interruption: signals.interruption,
                progress: SaveProgress("\(number) of \(jobs.count): "))
            // Another program that saves there may have removed it meanwhile.
            save.willWrite = { () throws(CommandFailure) in try self.makeFolder(job) }
            let page = try save.run()
            state.withLock { state in
                state.saved += 1
                if page.missCount > 0 { state.withMisses += 1 }
            }
            for line in page.remarks { StandardStream.error.writeLine(line) }
            let lines = command.options.json ? page.json.text : (page.lines + [""]).joined(separator: "\n")
            StandardStream.output.writeLine(lines)
        } catch {
            guard signals.status == nil else { return }
            state.withLock { state in
                state.failed += 1
                state.failure = state.failure ?? error.status
            }
            let message = error.message.hasPrefix(job.url) ? error.message : "\(job.url): \(error.message)"
            StandardStream.error.writeLine("subproxy: error: \(message)")
            guard command.options.json else { return }
            var object = JSONObjectText()
            object.add("url", job.url)
            object.add("error", error.message)
            object.add("status", Int(error.status.rawValue))
            StandardStream.output.writeLine(object.text)
        }
    }

    /// Makes the folders that a page is to be in.
    private func makeFolder(_ job: Job) throws(CommandFailure) {
        let problem = folders.withLock { $0.make(job.name) }
        guard let (path, error) = problem else { return }
        throw CommandFailure(status: .cantCreate, message: "the folder '\(path)' can't be made: \(error.text)")
    }
}

/// The folders of pages that are being saved. One that was made and has nothing in it is removed with the last page
/// that is to be in it, but for that of `-o` itself.
private struct PageFolders {
    private let top: String
    private var made: Set<String> = []
    private var pageCounts: [String: Int] = [:]

    /// - Parameter top: the folder that stays.
    init(top: String) { self.top = top }

    /// Notes a page that is to be in its folders.
    mutating func enter(_ name: String) {
        for path in PageFolders.folders(of: name) { pageCounts[path, default: 0] += 1 }
    }

    /// Makes the folders of a page's file that are not there.
    ///
    /// - Returns: one that can't be made, and why.
    mutating func make(_ name: String) -> (path: String, error: SystemError)? {
        for path in PageFolders.folders(of: name) {
            if mkdir(path, 0o777) == 0 {
                made.insert(path)
            } else if errno != EEXIST {
                return (path, SystemError())
            }
        }
        return nil
    }

    /// Removes the folders of a file that nothing is in, and that no other page is to be in.
    mutating func leave(_ name: String) {
        for path in PageFolders.folders(of: name).reversed() {
            let left = (pageCounts[path] ?? 1) - 1
            pageCounts[path] = left > 0 ? left : nil
            guard left <= 0, path.utf8.count > top.utf8.count, made.contains(path), rmdir(path) == 0 else { continue }
            made.remove(path)
        }
    }

    /// Those that a path leads through, the uppermost first.
    private static func folders(of path: String) -> [String] {
        path.indices.dropLast().filter { path[$0] == "/" }.map { String(path[..<$0]) }.filter { !$0.isEmpty }
    }
}

/// The names of files that are to be written, none of which is another's, or another's folder.
private struct TakenNames {
    private var files: Set<String> = []
    private var folders: Set<String> = []

    /// A name like this one that is free, which is taken from now on; the ending is not part of it.
    mutating func free(_ name: String, ending: String) -> String {
        let last = ending == "/" ? "" : ending
        for base in [name, name.split(separator: "/").joined(separator: "_")] {
            for number in 1...10_000 {
                let candidate = number == 1 ? base : "\(base)~\(number)"
                let whole = (candidate + last).lowercased()
                let above = whole.indices.filter { whole[$0] == "/" }.map { String(whole[..<$0]) }
                guard !above.contains(where: files.contains) else { break }
                guard !files.contains(whole), !folders.contains(whole) else { continue }
                files.insert(whole)
                folders.formUnion(above)
                return candidate
            }
        }
        return name
    }
}

extension ArraySlice<UInt8> {
    /// Without blanks at the ends, and without the carriage return of a line's end.
    fileprivate var trimmed: Self {
        var rest = drop { $0 == 0x20 || $0 == 0x09 }
        while let last = rest.last, last == 0x20 || last == 0x09 || last == 0x0D { rest.removeLast() }
        return rest
    }
}
