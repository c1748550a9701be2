import Basics
import Database
import Files
import HTTPSemantics
import Substitution
import Synchronization

/// The templates that were asked for, read and linked with their partials.
final class TemplatePages: Sendable {
    private struct Key: Hashable {
        @ByBytes var root: String
        let path: [UInt8]
        let text: [UInt8]?
    }

    private let pages = Mutex<[Key: TemplateFile]>([:])
    private let renderings = Atomic<Int>(0)
    private let numbers = Mutex<[ByBytes<String>: Int]>([:])

    /// Templates that are held; beyond it they are read anew.
    private static let capacity = 1024

    /// The template of a rule.
    ///
    /// - Parameter isRetained: whether it is held for the requests to come; else it is read for this one alone.
    func file(_ call: TemplateCall, in folder: FolderRoot, isRetained: Bool) -> TemplateFile {
        guard isRetained else { return TemplateFile(folder: folder, path: call.path, text: call.text) }
        let key = Key(root: call.root, path: call.path, text: call.text)
        return pages.withLock { pages in
            if let found = pages[key] { return found }
            if pages.count >= TemplatePages.capacity { pages.removeAll() }
            let made = TemplateFile(folder: folder, path: call.path, text: call.text)
            pages[key] = made
            return made
        }
    }

    /// Lets go of the templates in folders that a map does not name; who uses one holds it.
    func keep(of map: SubstitutionMap) {
        let named = Set(map.roots.map { ByBytes($0) })
        // They end behind the lock.
        let unused = pages.withLock { pages in
            let unused = pages.filter { !named.contains(ByBytes($0.key.root)) }
            for key in unused.keys { pages[key] = nil }
            return unused
        }
        withExtendedLifetime(unused) {}
    }

    /// Pages that were rendered.
    var renderingCount: Int { renderings.load(ordering: .relaxed) }

    func countRendering() { renderings.add(1, ordering: .relaxed) }

    /// How many answers a rule has given, with this one.
    ///
    /// - Parameter rule: its ``Rule/identity``, so that they are counted on when it has moved within its file.
    func count(_ rule: String) -> Int {
        numbers.withLock { numbers in
            let next = (numbers[ByBytes(rule)] ?? 0) &+ 1
            numbers[ByBytes(rule)] = next
            return next
        }
    }

    /// Begins the numbers anew.
    func reset() { numbers.withLock { $0.removeAll() } }
}

/// A template, with its partials, as it is on disk.
final class TemplateFile: Sendable {
    /// Changes with the template or a partial.
    let version = DataVersion()
    private let folder: FolderRoot
    private let reader: TemplateReader
    private let loaded = Mutex<Loaded?>(nil)
    /// Held by who reads: of two that read at once, one would be left with a state that is never the newest.
    private let reading = Mutex<Void>(())

    private struct Loaded {
        var page: Result<TemplatePage, TemplateFailure>
        /// The files that it is made of, with their states.
        var parts: [TemplateReader.Part]
        var number: UInt64
        /// Whether a later write is sure to show in the states.
        var isSettled: Bool

        /// Whether what was read is what the page is made of, whatever the files' times.
        func isMade(of others: [TemplateReader.Part]) -> Bool {
            parts.elementsEqual(others) { one, other in
                one.path == other.path && one.content == other.content
                    && Loaded.refusal(one) == Loaded.refusal(other)
            }
        }

        private static func refusal(_ part: TemplateReader.Part) -> FileRefusal? {
            if case .failure(let refusal) = part.state { refusal } else { nil }
        }
    }

    init(folder: FolderRoot, path: [UInt8], text: [UInt8]?) {
        self.folder = folder
        reader = TemplateReader(folder: folder, path: path, text: text)
    }

    /// The page as it is now, and the state that it is of. Does file I/O.
    ///
    /// - Throws: Why there is none.
    func page() throws(TemplateFailure) -> (page: TemplatePage, number: UInt64) {
        let found = known() ?? reading.withLock { _ in known() ?? read() }
        return (try found.page.get(), found.number)
    }

    /// The page and its state where its files were looked at a moment ago, or it has none; without a look at them.
    func glance(_ now: UInt64) -> (page: TemplatePage, number: UInt64)? {
        guard let loaded = loaded.withLock({ $0 }) else { return nil }
        let checkedAt = version.checkedAt
        guard loaded.parts.isEmpty || checkedAt >= now || now &- checkedAt < ReadyAnswer.freshFor,
            loaded.number == version.current, let page = try? loaded.page.get()
        else { return nil }
        if loaded.parts.isEmpty { version.checked(at: now) }
        return (page, loaded.number)
    }

    /// What was read, where the files are as they were.
    private func known() -> Loaded? {
        let started = monotonicNanoseconds()
        guard let loaded = loaded.withLock({ $0 }), loaded.isSettled, isCurrent(loaded.parts) else { return nil }
        version.checked(at: started)
        return loaded
    }

    private func read() -> Loaded {
        let started = monotonicNanoseconds()
        let wall = wallNanoseconds()
        var parts: [TemplateReader.Part] = []
        let page: Result<TemplatePage, TemplateFailure>
        do throws(TemplateFailure) {
            page = .success(TemplatePage(try reader.read(&parts)))
        } catch {
            page = .failure(error)
        }
        let isSettled = parts.allSatisfy { part in (try? part.state.get())?.isSettled(at: wall) ?? true }
        let last = loaded.withLock { $0 }
        let read: Loaded
        if let last, last.isMade(of: parts) {
            // What was written a moment ago is read once more, and mostly says the same.
            read = Loaded(page: last.page, parts: parts, number: last.number, isSettled: isSettled)
        } else {
            version.change()
            read = Loaded(page: page, parts: parts, number: version.current, isSettled: isSettled)
        }
        loaded.withLock { $0 = read }
        version.checked(at: started)
        return read
    }

    /// Looks whether the files are as they were. Does file I/O.
    func check() { _ = try? page() }

    private func isCurrent(_ parts: [TemplateReader.Part]) -> Bool {
        parts.allSatisfy { part in state(of: part.path) == part.state }
    }

    private func state(of path: [UInt8]) -> Result<FileIdentity, FileRefusal> {
        do throws(FileRefusal) { return .success(try folder.identity(of: path)) } catch { return .failure(error) }
    }
}
