import YAML

/// The options that a rule, or `defaults`, may have.
enum OptionName: String, CaseIterable {
    case file, text, json, base64, forward, redirect, block
    case methods, query
    case requestHeaders = "request-headers"
    case status, type, headers, cors, delay, rate
    case bypass, missing, when, retain

    /// Whether it says what answers.
    var isSource: Bool {
        switch self {
        case .file, .text, .json, .base64, .forward, .redirect, .block: true
        default: false
        }
    }

    /// Options that a later version will have; a map that uses one is told so.
    static let unsupported = ["template", "values", "sqlite"]

    init?(_ key: YAMLScalar) {
        self.init(rawValue: key.string)
    }

    /// What to say about a key that is none of these.
    static func refusal(_ key: YAMLScalar, among names: [String]) -> String {
        let text = key.string
        if unsupported.contains(text) { return "the option '\(text)' is not supported by this version" }
        let known = didYouMean(text, among: names).map { "; did you mean '\($0)'?" } ?? ""
        return "unknown option \(key)\(known)"
    }
}
