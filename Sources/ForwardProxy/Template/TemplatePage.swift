import Basics
import Database
import HTTPSemantics
import Mustache
import Substitution

/// How much of a request a page depends on; each on what the ones before it depend on too.
enum PageDependency: Comparable {
    /// The same page for all requests of a rule, as long as its files and data stay what they are.
    case nothing
    /// A page a URL.
    case url
    /// A page for a method, for fields, for cookies.
    case fields
    /// A page of its own for each request.
    case request
}

extension TemplateCall {
    /// The media type of the page.
    func mediaType(by options: RuleOptions) -> String {
        if let type = options.mediaType { return type }
        guard text == nil else { return "text/html; charset=utf-8" }
        return SystemMediaTypes.type(forPath: TemplateCall.typePath(path)).withDefaultCharset.description
    }
}

/// A page that is linked, and what of a request it uses.
final class TemplatePage: Sendable {
    let page: MustachePage
    /// The paths below `request`; one that is empty stands for all of it.
    private let paths: Set<ByBytes<[String]>>
    /// The members of `request` that it uses; nil for all of them.
    let members: Set<String>?
    /// What it depends on by these members.
    private let ownDependency: PageDependency

    init(_ page: MustachePage) {
        self.page = page
        paths = Set(page.paths(from: "request").map { ByBytes(Array($0.dropFirst())) })
        let names = paths.map(\.wrappedValue.first)
        let members = names.contains(nil) ? nil : Set(names.compactMap { $0 })
        self.members = members
        ownDependency = members.map { $0.map(TemplatePage.dependency(on:)).max() ?? .nothing } ?? .request
    }

    var usesRequest: Bool { !paths.isEmpty }

    /// What of the request it uses, as templates write it: `request.query.q`.
    var uses: [String] {
        paths.map { (["request"] + $0.wrappedValue).joined(separator: ".") }.sorted()
    }

    private static let ofURL: Set<String> = [
        "url", "scheme", "host", "port", "path", "segments", "query", "query-all", "captures",
    ]
    private static let ofFields: Set<String> = ["method", "headers", "cookies"]

    private static func dependency(on member: String) -> PageDependency {
        ofURL.contains(member) ? .url : ofFields.contains(member) ? .fields : .request
    }

    /// What it depends on, with the parameters of the statements that its rows come from.
    func dependency(_ statements: [NamedStatement]) -> PageDependency {
        var dependency = ownDependency
        for parameter in statements.lazy.flatMap(\.statement.parameters) {
            dependency = max(dependency, parameter.hasPrefix("@") ? .request : .url)
        }
        return dependency
    }

    /// Whether it uses the body of a request.
    func usesBody(_ statements: [NamedStatement]) -> Bool {
        (members.map { !$0.isDisjoint(with: ["body", "json", "form"]) } ?? true)
            || statements.contains { $0.statement.parameters.contains { $0.hasPrefix("@") } }
    }

    /// The fields of the request that it depends on, as Vary names them.
    var fieldNames: [String] {
        var names: Set<String> = []
        for path in paths.map(\.wrappedValue) {
            if path.first == "headers" {
                let name = path.count > 1 ? path[1] : "*"
                // What is no field's name finds none.
                if name.utf8.allSatisfy({ $0.isMember(of: .token) }) { names.insert(name) }
            }
            if path.first == "cookies" { names.insert("Cookie") }
        }
        return names.contains("*") ? ["*"] : names.sorted()
    }
}
