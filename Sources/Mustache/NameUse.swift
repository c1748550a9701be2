public import Diagnostics

/// A tag that uses a value: `{{a.b}}`, `{{{a.b}}}`, `{{#a.b}}` or `{{^a.b}}`.
public struct NameUse: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// `{{a}}`.
        case escaped
        /// `{{{a}}}` or `{{&a}}`.
        case raw
        /// `{{#a}}` or `{{^a}}`.
        case section
    }

    /// What is done with the value.
    public let kind: Kind
    /// The parts of its name; none for `{{.}}`.
    public let path: [String]
    /// Which of ``MustachePage/templates`` the tag is in.
    public let template: Int
    /// The tag in that template.
    public let span: TextSpan
    /// Whether the tag may be rendered outside of all sections, where it finds no other names than those that the page
    /// is rendered with. What is written for blocks counts where their values may go, defaults that something is
    /// given for do not count.
    public let isOutsideSections: Bool
    /// The first part of each name that the sections around it, in its template, are of.
    public let sections: Set<String>
}

extension MustachePage {
    /// The names that tags of the page use from a value on, without repetition: for `request` those that begin with
    /// it, such as `["request", "query", "page"]`.
    ///
    /// A section uses all of its value, whatever stands in it: `{{#request.query}}` gives `["request", "query"]`. Tags
    /// that no value lets be rendered count like others.
    public func paths(from name: String) -> Set<[String]> {
        let first = Array(name.utf8)
        var paths: Set<[String]> = []
        for template in templates {
            for path in template.program.paths where path.parts.first == first {
                paths.insert(path.parts.map { String(decoding: $0, as: UTF8.self) })
            }
        }
        return paths
    }

    /// A message about a tag, and how it is printed with its line and a mark.
    public func diagnostic(
        _ severity: Diagnostic.Severity, _ message: String, at use: NameUse
    ) -> (diagnostic: Diagnostic, rendering: String) {
        let template = templates[use.template]
        let diagnostic = Diagnostic(severity, message, file: template.file, span: use.span)
        return (diagnostic, diagnostic.rendered(source: template.source))
    }
}
