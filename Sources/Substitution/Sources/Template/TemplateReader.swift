public import Files
public import Mustache

/// Reads a template and its partials from the folder of a map.
public struct TemplateReader: Sendable {
    /// A file that was looked for, its state, or why it can't be had, and a hash of what was read.
    public typealias Part = (path: [UInt8], state: Result<FileIdentity, FileRefusal>, content: Int)

    private let folder: FolderRoot
    private let path: [UInt8]
    private let text: [UInt8]?

    /// - Parameters:
    ///   - path: the template's path below the folder; empty for one that stands in the map.
    ///   - text: the template, where it stands in the map.
    public init(folder: FolderRoot, path: [UInt8], text: [UInt8]?) {
        self.folder = folder
        self.path = path
        self.text = text
    }

    /// Reads the template, and links it with its partials. Does file I/O.
    ///
    /// - Parameter parts: gets the files that the page is made of, or that it lacks.
    /// - Throws: What is wrong with the first file that something is wrong with.
    public func read(_ parts: inout [Part]) throws(TemplateFailure) -> MustachePage {
        let root: MustacheTemplate
        if let text {
            root = try parse(text, name: TemplateSource.inlineName)
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
    private func template(_ path: [UInt8], _ parts: inout [Part]) throws(TemplateFailure) -> MustacheTemplate? {
        let file: (bytes: [UInt8], identity: FileIdentity)
        do throws(FileRefusal) {
            // One byte more than a template may have shows that it is too large.
            file = try folder.read(path, upTo: MustacheLimits().templateBytes + 1)
        } catch {
            parts.append((path, .failure(error), 0))
            guard error == .notFound else { throw .file(error) }
            return nil
        }
        parts.append((path, .success(file.identity), file.bytes.hashValue))
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
        // What stands in the map stands in the root, and its name is no path; that of a partial is one.
        let isInMap = text != nil && template.file == TemplateSource.inlineName
        var parts = isInMap ? [] : template.file.split(separator: "/").dropLast().map(String.init)
        for part in name.split(separator: "/") {
            switch part {
            case ".": continue
            case "..": if parts.popLast() == nil { return nil }
            default: parts.append(String(part))
            }
        }
        guard !name.hasPrefix("/"), var last = parts.popLast() else { return nil }
        if !last.contains(".") { last += TemplateReader.templateExtension(of: path) }
        return Array((parts + [last]).joined(separator: "/").utf8)
    }

    /// `.html` of `page.html` and of a template that stands in the map, `.html.mustache` of `page.html.mustache`.
    private static func templateExtension(of path: [UInt8]) -> String {
        guard !path.isEmpty else { return ".html" }
        let name = path.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let isMarked = name.hasSuffix(".mustache")
        let plain = isMarked ? String(name.dropLast(".mustache".count)) : name
        let own = plain.lastIndex(of: ".").map { String(plain[$0...]) } ?? ""
        return isMarked ? own + ".mustache" : own
    }
}

/// Why a template can't be rendered.
public enum TemplateFailure: Error, Sendable {
    case file(FileRefusal)
    case template(TemplateError)
}
