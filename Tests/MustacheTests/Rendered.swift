import Mustache

/// Renders a template whose partials are given by their names.
func rendered(
    _ template: String, _ values: MustacheValue = .mapping([:]), partials: [String: String] = [:],
    escaping: MustacheEscaping = .html, limits: MustacheLimits = MustacheLimits()
) throws(TemplateError) -> String {
    let page = try page(template, partials: partials, limits: limits)
    return String(decoding: try page.render([values], escaping: escaping), as: UTF8.self)
}

/// A page of a template whose partials are given by their names.
func page(
    _ template: String, partials: [String: String] = [:], limits: MustacheLimits = MustacheLimits()
) throws(TemplateError) -> MustachePage {
    let root = try MustacheTemplate.parse(Array(template.utf8), file: "page.html", limits: limits)
    return try MustachePage(root, limits: limits) { reference, _ throws(TemplateError) in
        guard let partial = partials[reference.name] else { return nil }
        return try MustacheTemplate.parse(Array(partial.utf8), file: reference.name, limits: limits)
    }
}

/// The message of the error that a rendering, or a parse, ends with; nil where it has none.
func failure(
    _ template: String, _ values: MustacheValue = .mapping([:]), partials: [String: String] = [:],
    limits: MustacheLimits = MustacheLimits()
) -> String? {
    do throws(TemplateError) {
        _ = try rendered(template, values, partials: partials, limits: limits)
        return nil
    } catch {
        return error.rendering
    }
}

extension MustacheValue {
    /// A mapping.
    static func mapping(_ members: KeyValuePairs<String, MustacheValue>) -> MustacheValue {
        .mapping(MustacheMapping(members))
    }
}
