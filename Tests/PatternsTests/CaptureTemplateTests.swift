import Testing

@testable import Patterns

struct CaptureTemplateTests {
    private func expand(_ template: CaptureTemplate, _ pattern: String, _ input: String) throws -> String {
        let expression = try LinearExpression(pattern)
        var scratch = MatchScratch()
        var captures = CaptureList()
        var output = Array("<".utf8)
        let bytes = Array(input.utf8)
        let isMatch = bytes.withUnsafeBytes { input in
            let isMatch = expression.firstMatch(in: input, scratch: &scratch, captures: &captures)
            template.expand(into: &output, captures: captures, of: input)
            return isMatch
        }
        #expect(isMatch)
        return String(decoding: output, as: UTF8.self)
    }

    @Test(
        "Groups are filled in",
        arguments: [
            ("users-v$1.json", "<users-vab.json"), ("$1/$2/$3.png", "<ab/c/d.png"), ("${1}0", "<ab0"),
            ("${two}x", "<cx"),
            ("$1$2", "<abc"), ("$$1", "<$1"), ("$$$1", "<$ab"), ("a$$", "<a$"), ("", "<"), ("é$3é", "<édé"),
            ("$4", "<"), ("$10", "<j"),
            ("$99", "<"), ("${none}", "<"), ("$1{", "<ab{"), ("$1_", "<ab_"), ("{}", "<{}"),
        ])
    func expansion(template: String, expected: String) throws {
        let pattern = "^(ab)(?<two>c)(d)(x)?(e)(f)(g)(h)(i)(j)"
        var template = try CaptureTemplate(template)
        template.resolve(names: try LinearExpression(pattern).groupNames)
        #expect(try expand(template, pattern, "abcdefghij") == expected)
    }

    @Test("References are listed with their places")
    func references() throws {
        let template = try CaptureTemplate("é$1.${name}$12$$${3}")
        #expect(
            template.references == [
                .init(group: .number(1), range: 2..<4), .init(group: .name("name"), range: 5..<12),
                .init(group: .number(12), range: 12..<15), .init(group: .number(3), range: 17..<21),
            ])
        #expect(template.maximumGroup == 12)
        #expect(!template.isConstant && template.constant == nil)
        #expect(template.missing(groupCount: 3, names: ["name": 3]).map(\.range) == [12..<15])
        #expect(template.missing(groupCount: 12).map(\.range) == [5..<12])
        #expect(template.missing(groupCount: 0).count == 4)
    }

    @Test("A template without references is constant", arguments: [("a.png", "a.png"), ("$$a$$", "$a$"), ("", "")])
    func constant(template: String, expected: String) throws {
        let template = try CaptureTemplate(template)
        #expect(template.isConstant && template.maximumGroup == 0 && template.references.isEmpty)
        #expect(template.constant == Array(expected.utf8))
    }

    @Test(
        "A dollar that begins nothing is an error where it stands",
        arguments: [
            ("a$", 1..<2), ("$x", 0..<1), ("$-", 0..<1), ("$$$", 2..<3), ("a${", 1..<3), ("${}", 0..<3), ("${1", 0..<3),
            ("${a-b}", 0..<4),
            ("$0", 0..<2), ("$01", 0..<3), ("$100", 0..<4), ("x${0}", 1..<5), ("${1a}", 0..<5), ("${100}", 0..<6),
            ("$99999999999999999999", 0..<21),
            ("${é}", 0..<3),
        ])
    func error(template: String, range: Range<Int>) throws {
        let error = try #require(patternError { _ = try CaptureTemplate(template) })
        #expect(error.range == range)
        #expect(error.message.contains("$"))
    }

    @Test("Captures of another, longer input expand to nothing and do no harm")
    func foreignCaptures() throws {
        var captures = CaptureList()
        captures.reset(groups: 2)
        captures.bounds = [0, 9, 3, 9]
        var output: [UInt8] = []
        let template = try CaptureTemplate("a$1")
        [UInt8]("abcd".utf8).withUnsafeBytes { template.expand(into: &output, captures: captures, of: $0) }
        #expect(output == Array("a".utf8))
    }
}
