import Basics

/// A template with all the partials and parents that it, and they, name.
public struct MustachePage: Sendable {
    /// The templates, the page's own one first, then in the order that they are named in.
    public let templates: [MustacheTemplate]
    /// For each template, which of ``templates`` each of its references is.
    let links: [[Int]]
    private let limits: MustacheLimits

    /// Links a template and its partials.
    ///
    /// A template is the same as another if its ``MustacheTemplate/file`` is; one may name itself.
    ///
    /// - Parameter find: Finds a partial by the reference and the template that has it; called once for each reference
    ///   of each template. nil where there is none; it may throw an error of its own, such as that of the partial, or
    ///   ``MustacheTemplate/error(_:at:)``.
    /// - Throws: What `find` throws; a partial that is missing, at the tag that names it.
    public init(
        _ root: MustacheTemplate, limits: MustacheLimits = MustacheLimits(),
        find: (PartialReference, MustacheTemplate) throws(TemplateError) -> MustacheTemplate?
    ) throws(TemplateError) {
        var templates = [root]
        var links: [[Int]] = []
        var numbers = [ByBytes(root.file): 0]
        var bytes = root.source.count
        while links.count < templates.count {
            let template = templates[links.count]
            var targets: [Int] = []
            for reference in template.references {
                guard let partial = try find(reference, template) else {
                    throw template.error("the partial '\(reference.name)' is missing", at: reference)
                }
                if let number = numbers[ByBytes(partial.file)] {
                    targets.append(number)
                } else {
                    guard templates.count < limits.partialCount else {
                        throw template.error(
                            "a page consists of at most \(limits.partialCount) templates", at: reference)
                    }
                    bytes += partial.source.count
                    guard bytes <= limits.pageBytes else {
                        throw template.error(
                            "a page and its partials have at most \(limits.pageBytes) bytes", at: reference)
                    }
                    numbers[ByBytes(partial.file)] = templates.count
                    targets.append(templates.count)
                    templates.append(partial)
                }
            }
            links.append(targets)
        }
        self.templates = templates
        self.links = links
        self.limits = limits
    }

    /// Renders the page.
    ///
    /// - Parameters:
    ///   - contexts: The values that names are looked for in, the last one first; `{{.}}` is the last one.
    ///   - answerBytes: At most so many bytes are written; by default as many as the limits say.
    /// - Throws: Where a limit is exceeded, at the tag that did it.
    public func render(
        _ contexts: [MustacheValue], escaping: MustacheEscaping, answerBytes: Int? = nil
    ) throws(TemplateError) -> [UInt8] {
        var renderer = Renderer(
            page: self, contexts: contexts, escaping: escaping, limits: limits,
            answerBytes: answerBytes ?? limits.answerBytes)
        return try renderer.render()
    }
}
