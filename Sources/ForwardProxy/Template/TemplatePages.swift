import Basics
import Database
import Files
import HTTPSemantics
import Mustache
import Substitution
import Synchronization

/// The templates that were asked for, read and linked with their partials.
final class TemplatePages: Sendable {
    private struct Key: Hashable {
        let root: String
        let path: [UInt8]
        let text: [UInt8]?
    }

    private let pages = Mutex<[Key: TemplateFile]>([:])
    private let numbers = Mutex<[String: Int]>([:])

    /// Templates that are held; beyond it they are read anew.
    private static let capacity = 1024

    /// The template of a rule.
    func file(_ call: TemplateCall, in folder: FolderRoot) -> TemplateFile {
        let key = Key(root: call.root, path: call.path, text: call.text)
        return pages.withLock { pages in
            if let found = pages[key] { return found }
            if pages.count >= TemplatePages.capacity { pages.removeAll() }
            let made = TemplateFile(folder: folder, path: call.path, text: call.text)
            pages[key] = made
            return made
        }
    }

    /// How many answers a rule has given, with this one.
    func count(_ position: String) -> Int {
        numbers.withLock { numbers in
            let next = (numbers[position] ?? 0) &+ 1
            numbers[position] = next
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
    private let path: [UInt8]
    private let text: [UInt8]?
    private let loaded = Mutex<Loaded?>(nil)

    private struct Loaded {
        var page: Result<TemplatePage, TemplateFailure>
        /// The files that it is made of, with their states.
        var parts: [(path: [UInt8], identity: FileIdentity?)]
        var number: UInt64
    }

    init(folder: FolderRoot, path: [UInt8], text: [UInt8]?) {
        self.folder = folder
        self.path = path
        self.text = text
    }

    /// The page as it is now, and the state that it is of. Does file I/O.
    ///
    /// - Throws: Why there is none.
    func page() throws(TemplateFailure) -> (page: TemplatePage, number: UInt64) {
        let started = monotonicNanoseconds()
        if let loaded = loaded.withLock({ $0 }), isCurrent(loaded.parts) {
            version.checked(at: started)
            return (try loaded.page.get(), loaded.number)
        }
        version.change()
        let number = version.current
        var parts: [(path: [UInt8], identity: FileIdentity?)] = []
        let page: Result<TemplatePage, TemplateFailure>
        do throws(TemplateFailure) {
            page = .success(TemplatePage(try read(&parts)))
        } catch {
            page = .failure(error)
        }
        loaded.withLock { $0 = Loaded(page: page, parts: parts, number: number) }
        version.checked(at: started)
        return (try page.get(), number)
    }

    /// Looks whether the files are as they were. Does file I/O.
    func check() { _ = try? page() }

    private func isCurrent(_ parts: [(path: [UInt8], identity: FileIdentity?)]) -> Bool {
        parts.allSatisfy { part in (try? folder.identity(of: part.path)) == part.identity }
    }

    // MARK: Reading

    private func read(
        _ parts: inout [(path: [UInt8], identity: FileIdentity?)]
    ) throws(TemplateFailure) -> MustachePage {
        var root: MustacheTemplate
        if let text {
            root = try parse(text, name: "template")
        } else {
            guard let found = try template(path, &parts) else { throw .file(.notFound) }
            root = found
        }
        // A closure that throws can't change what it was handed to change.
        var made = parts
        defer { parts = made }
        do throws(TemplateError) {
            return try MustachePage(root) { reference, template throws(TemplateError) in
                guard let partial = partialPath(reference.name, of: template) else {
                    throw template.error("the partial '\(reference.name)' is outside of the root", at: reference)
                }
                do throws(TemplateFailure) { return try self.template(partial, &made) } catch {
                    switch error {
                    case .template(let error): throw error
                    case .file(let refusal):
                        throw template.error("the partial '\(reference.name)': \(refusal)", at: reference)
                    }
                }
            }
        } catch {
            throw .template(error)
        }
    }

    /// Reads a template; nil where there is none.
    private func template(
        _ path: [UInt8], _ parts: inout [(path: [UInt8], identity: FileIdentity?)]
    ) throws(TemplateFailure) -> MustacheTemplate? {
        let file: (bytes: [UInt8], identity: FileIdentity)
        do throws(FileRefusal) {
            // One byte more than a template may have shows that it is too large.
            file = try folder.read(path, upTo: MustacheLimits().templateBytes + 1)
        } catch {
            parts.append((path, nil))
            guard error == .notFound else { throw .file(error) }
            return nil
        }
        parts.append((path, file.identity))
        return try parse(file.bytes, name: String(decoding: path, as: UTF8.self))
    }

    private func parse(_ bytes: [UInt8], name: String) throws(TemplateFailure) -> MustacheTemplate {
        do throws(TemplateError) { return try MustacheTemplate.parse(bytes, file: name) } catch {
            throw .template(error)
        }
    }

    /// The path of a partial: its name in the folder of the template that names it, with the extension of the page's
    /// template where it has none; nil where it leads out of the root.
    private func partialPath(_ name: String, of template: MustacheTemplate) -> [UInt8]? {
        var parts = text == nil ? template.file.split(separator: "/").dropLast().map(String.init) : []
        for part in name.split(separator: "/") {
            switch part {
            case ".": continue
            case "..": if parts.popLast() == nil { return nil }
            default: parts.append(String(part))
            }
        }
        guard !name.hasPrefix("/"), var last = parts.popLast() else { return nil }
        if !last.contains(".") { last += TemplateFile.templateExtension(of: path) }
        return Array((parts + [last]).joined(separator: "/").utf8)
    }

    /// `.html` of `page.html`, `.html.mustache` of `page.html.mustache`.
    static func templateExtension(of path: [UInt8]) -> String {
        let name = path.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let isMarked = name.hasSuffix(".mustache")
        let plain = isMarked ? String(name.dropLast(".mustache".count)) : name
        let own = plain.lastIndex(of: ".").map { String(plain[$0...]) } ?? ""
        return isMarked ? own + ".mustache" : own.isEmpty ? ".html" : own
    }
}

/// Why a template can't be rendered.
enum TemplateFailure: Error {
    case file(FileRefusal)
    case template(TemplateError)
}

/// A page that is linked, and what of a request it uses.
final class TemplatePage: Sendable {
    let page: MustachePage
    /// The paths below `request`; one that is empty stands for all of it.
    private let paths: Set<[String]>

    init(_ page: MustachePage) {
        self.page = page
        paths = Set(page.paths(from: "request").map { Array($0.dropFirst()) })
    }

    var usesRequest: Bool { !paths.isEmpty }

    /// The members of `request` that it uses; nil for all of them.
    var members: Set<String>? {
        guard !paths.contains([]) else { return nil }
        return Set(paths.compactMap(\.first))
    }

    private static let ofURL: Set<String> = [
        "url", "scheme", "host", "port", "path", "segments", "query", "query-all", "captures",
    ]
    private static let ofFields: Set<String> = ["method", "headers", "cookies"]

    /// Whether the same URL always gets the same page from the same data.
    var dependsOnURLAlone: Bool { members.map { $0.isSubset(of: TemplatePage.ofURL) } ?? false }

    /// Whether each request gets a page of its own.
    var isOfOneRequest: Bool {
        members.map { !$0.isSubset(of: TemplatePage.ofURL.union(TemplatePage.ofFields)) } ?? true
    }

    /// Whether it uses the body of a request.
    var usesBody: Bool { members.map { !$0.isDisjoint(with: ["body", "json", "form"]) } ?? true }

    /// The fields of the request that it depends on, as Vary names them.
    var fieldNames: [String] {
        var names: Set<String> = []
        for path in paths {
            if path.first == "headers" { names.insert(path.count > 1 ? path[1] : "*") }
            if path.first == "cookies" { names.insert("Cookie") }
        }
        return names.contains("*") ? ["*"] : names.sorted()
    }
}
