import Foundation
import Mustache
import Testing

/// The cases of https://github.com/mustache/spec, which are beside this file (see their LICENSE).
@Suite("The specification of Mustache")
struct SpecificationTests {
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        var name: String
        var desc: String
        var data: JSONValue
        var template: String
        var partials: [String: String]?
        var expected: String

        var testDescription: String { "\(name): \(desc)" }
    }

    private struct Suite: Decodable {
        var tests: [Case]
    }

    static let modules = [
        "comments": 12, "delimiters": 14, "interpolation": 42, "inverted": 22, "partials": 12, "sections": 34,
        "~inheritance": 27,
    ]

    static let cases: [Case] = {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Specification")
        return modules.keys.sorted().flatMap { module -> [Case] in
            guard let data = try? Data(contentsOf: folder.appending(path: "\(module).json")),
                let suite = try? JSONDecoder().decode(Suite.self, from: data)
            else { return [] }
            return suite.tests
        }
    }()

    @Test("is here as a whole")
    func completeness() {
        #expect(Self.cases.count == Self.modules.values.reduce(0, +))
    }

    @Test("holds", arguments: cases)
    func holds(_ test: Case) throws {
        let page = { try Self.page(test) }
        if test.name == "Failed Lookup" {
            // A partial that is missing is an error here.
            #expect(throws: TemplateError.self) { try page() }
        } else {
            let output = try page().render([test.data.value], escaping: .html)
            #expect(String(decoding: output, as: UTF8.self) == test.expected)
        }
    }

    private static func page(_ test: Case) throws -> MustachePage {
        let partials = test.partials ?? [:]
        return try MustachePage(.parse(Array(test.template.utf8), file: "page")) {
            reference, _ throws(TemplateError) in
            guard let partial = partials[reference.name] else { return nil }
            return try MustacheTemplate.parse(Array(partial.utf8), file: "partial \(reference.name)")
        }
    }
}
