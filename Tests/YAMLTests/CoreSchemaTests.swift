import Testing
import YAML

@Suite("The core schema")
struct CoreSchemaTests {
    @Test(
        "reads plain scalars",
        arguments: [
            ("", .null), ("~", .null), ("null", .null), ("Null", .null), ("NULL", .null), ("nUll", .text),
            ("true", .boolean(true)), ("True", .boolean(true)), ("TRUE", .boolean(true)), ("tRUE", .text),
            ("false", .boolean(false)), ("False", .boolean(false)), ("FALSE", .boolean(false)),
            ("yes", .text), ("no", .text), ("on", .text), ("off", .text), ("NO", .text), ("y", .text),
            ("0", .integer(0)), ("-0", .integer(0)), ("+12", .integer(12)), ("-19", .integer(-19)),
            ("8118", .integer(8118)), ("70000", .integer(70000)), ("0x1FB6", .integer(8118)), ("0xff", .integer(255)),
            ("0o17", .integer(15)), ("0o18", .text), ("0x", .text), ("0o", .text), ("0xg", .text), ("0b1", .text),
            ("-0x10", .text), ("0X10", .text), ("018", .text), ("-01", .text), ("00", .text), ("01.5", .text),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .integerOverflow), ("-9223372036854775809", .integerOverflow),
            ("0x7FFFFFFFFFFFFFFF", .integer(.max)), ("0x8000000000000000", .integerOverflow),
            ("0o1000000000000000000000", .integerOverflow), ("99999999999999999999999999999999999", .integerOverflow),
            ("1e3", .float(1000)), ("8118.0", .float(8118)), (".5", .float(0.5)), ("-.5", .float(-0.5)),
            ("1.", .float(1)), ("+1.5E-1", .float(0.15)), ("0.0", .float(0)), ("1e400", .float(.infinity)),
            (".inf", .float(.infinity)), ("-.Inf", .float(-.infinity)), ("+.INF", .float(.infinity)),
            (".", .text), ("-", .text), ("+", .text), ("e3", .text), ("1e", .text), ("1e+", .text), ("1.2.3", .text),
            (".e3", .text), ("- 1", .text), ("1_000", .text), ("12:30:45", .text), ("2024-01-01", .text),
            ("1 2", .text),
            ("-.nan", .text), (".iNF", .text), ("inf", .text), ("nan", .text), ("++1", .text), ("10GB", .text),
            ("250ms", .text), ("<<", .text), ("=", .text), ("٣", .text),
        ] as [(String, YAMLScalarValue)])
    func plain(text: String, expected: YAMLScalarValue) {
        #expect(YAMLScalar([UInt8](text)).value == expected)
    }

    @Test("reads not-a-number", arguments: [".nan", ".NaN", ".NAN"])
    func notANumber(text: String) {
        #expect(YAMLScalar([UInt8](text)).doubleValue?.isNaN == true)
    }

    @Test(
        "takes every scalar that isn't plain for text",
        arguments: ["", "~", "null", "true", "1", "0x1", ".inf"],
        [YAMLScalar.Style.singleQuoted, .doubleQuoted, .literal, .folded])
    func quoted(text: String, style: YAMLScalar.Style) {
        let scalar = YAMLScalar([UInt8](text), style: style)
        #expect(scalar.value == .text)
        #expect(!scalar.isNull && scalar.boolValue == nil && scalar.intValue == nil && scalar.doubleValue == nil)
    }

    @Test("reads what stands in a source the same way")
    func inSource() throws {
        let found = try scalars("[8118, \"8118\", 018, yes, ~, 'true', true]")
        #expect(found.map(\.value) == [.integer(8118), .text, .text, .text, .null, .text, .boolean(true)])
    }

    @Test(
        "knows the words that only YAML 1.1 takes for booleans",
        arguments: ["y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"])
    func yaml11Booleans(word: String) {
        #expect(YAMLScalar([UInt8](word)).isYAML11Boolean)
        #expect(!YAMLScalar([UInt8](word), style: .singleQuoted).isYAML11Boolean)
        #expect(YAMLScalar([UInt8](word)).boolValue == nil)
    }

    @Test("knows no other words for booleans", arguments: ["true", "false", "yES", "noo", "", "of", "1"])
    func otherWords(word: String) {
        #expect(!YAMLScalar([UInt8](word)).isYAML11Boolean)
    }

    @Test("gives typed values, and nil for the others")
    func typedValues() {
        #expect(YAMLScalar([UInt8]("0x10")).intValue == 16)
        #expect(YAMLScalar([UInt8]("1e3")).intValue == nil)
        #expect(YAMLScalar([UInt8]("9223372036854775808")).intValue == nil)
        #expect(YAMLScalar([UInt8]("9223372036854775808")).doubleValue == 0x1p63)
        #expect(YAMLScalar([UInt8]("3")).doubleValue == 3)
        #expect(YAMLScalar([UInt8]("true")).doubleValue == nil)
    }
}
