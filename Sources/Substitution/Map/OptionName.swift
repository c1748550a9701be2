import Diagnostics
import YAML

/// The options that a rule may have beside its source, and `defaults`.
enum OptionName: String, CaseIterable {
    case methods, query
    case requestHeaders = "request-headers"
    case navigation
    case status, type, headers, cors, delay, rate
    case bypass, missing, when, retain

    init?(_ key: YAMLScalar) {
        self.init(rawValue: key.string)
    }

    /// What to say about a key that is none of these.
    static func refusal(_ key: YAMLScalar, among names: [String]) -> String {
        let text = key.string
        let known = didYouMean(text, among: names).map { "; did you mean '\($0)'?" } ?? ""
        return "unknown option \(key)\(known)"
    }
}
