import Diagnostics
import HTTPSemantics
import YAML

/// Reads a rule's `headers`: the response fields to set and to remove.
struct FieldChangeReader {
    let diagnostics: FileDiagnostics

    /// Why a field is not a rule's to set; nil for all others.
    private static func reservation(_ name: String) -> String? {
        switch name {
        case "content-length", "transfer-encoding", "trailer":
            "it says where the body ends, which the proxy does itself"
        case "connection", "keep-alive", "proxy-connection", "te", "upgrade":
            "it speaks of the connection, which the proxy does itself"
        case "date", "via", "cache-status", "proxy-status": "it says when and how the proxy answered"
        case "content-range": "it belongs to a part of the body, which the proxy makes itself"
        default: nil
        }
    }

    func read(_ value: YAMLNode) -> [RuleOptions.FieldChange]? {
        guard let entries = value.entries else {
            diagnostics.error(
                "'headers' is a mapping of field names to values, as in { X-Mock: \"yes\" }", at: value.span)
            return nil
        }
        var changes: [RuleOptions.FieldChange] = []
        for entry in entries {
            guard let key = entry.key.scalar, FieldChangeReader.isName(key) else {
                diagnostics.error("\(FieldChangeReader.described(entry.key)) is no field name", at: entry.key.span)
                continue
            }
            let name = key.string
            let lowercased = String(decoding: key.bytes.map(\.asciiLowercased), as: UTF8.self)
            if let reason = FieldChangeReader.reservation(lowercased) {
                diagnostics.error("the field '\(name)' can't be set: \(reason)", at: key.span)
                continue
            }
            if changes.contains(where: { URLText.equalIgnoringCase($0.name.utf8, key.bytes) }) {
                diagnostics.error("the field '\(name)' comes twice", at: key.span)
                continue
            }
            guard let change = fieldValue(entry.value) else { continue }
            changes.append(RuleOptions.FieldChange(name: name, value: change.value))
        }
        return changes
    }

    /// A field's value, of which nil removes the field; nil itself where it is refused.
    private func fieldValue(_ node: YAMLNode) -> (value: [UInt8]?, Void)? {
        guard let scalar = node.scalar else {
            diagnostics.error("a field's value is one text, or null to remove the field", at: node.span)
            return nil
        }
        if scalar.isNull { return (nil, ()) }
        guard scalar.bytes.allSatisfy({ $0.isMember(of: .fieldValue) }) else {
            diagnostics.error("a field's value has no line break and no control character", at: scalar.span)
            return nil
        }
        return (scalar.withBytes { Array(UnsafeRawBufferPointer($0).trimmingOptionalWhitespace) }, ())
    }

    /// Whether it is a token (RFC 9110 §5.1).
    static func isName(_ key: YAMLScalar) -> Bool {
        key.count > 0 && key.count <= 1024 && key.bytes.allSatisfy { $0.isMember(of: .token) }
    }

    static func described(_ key: YAMLNode) -> String {
        key.scalar.map { "\($0)" } ?? key.kind
    }
}
