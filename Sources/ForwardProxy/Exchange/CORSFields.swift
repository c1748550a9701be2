import HTTP1
import HTTPSemantics
import NIOCore
import Substitution

/// The fields that let a script of another origin read a mapped response (Fetch standard, "CORS protocol"): those that
/// the proxy adds. What the rule itself sets or removes is not among them.
struct CORSFields: OptionSet {
    let rawValue: UInt8

    static let allowOrigin = CORSFields(rawValue: 1)
    static let allowCredentials = CORSFields(rawValue: 2)
    static let exposeHeaders = CORSFields(rawValue: 4)
    static let all: CORSFields = [.allowOrigin, .allowCredentials, .exposeHeaders]

    /// Writes the fields for a request with `Origin`; nothing where there is none. `Vary: Origin` stands in every
    /// answer, and is not written here.
    ///
    /// - Parameter exposed: the names for Access-Control-Expose-Headers.
    func write(for fields: FieldSection, exposed: @autoclosure () -> String, to lines: inout ByteBuffer) {
        guard contains(.allowOrigin), writeOrigin(fields, to: &lines), contains(.exposeHeaders) else { return }
        lines.writeStaticString("Access-Control-Expose-Headers: ")
        lines.writeString(exposed())
        lines.writeStaticString("\r\n")
    }

    /// Adds all of them, and `Vary: Origin`, behind the other lines of a response, whose fields are exposed.
    static func writeAll(for fields: FieldSection, exposingAllOf lines: inout ByteBuffer) {
        lines.writeStaticString("Vary: Origin\r\n")
        guard fields.contains(.origin) else { return }
        let exposed = names(in: lines)
        CORSFields.all.write(for: fields, exposed: exposed, to: &lines)
    }

    /// The names in field lines that scripts see only where they are exposed.
    private static func names(in lines: ByteBuffer) -> String {
        let names = lines.readableBytesView.split(separator: UInt8(ascii: "\n")).compactMap { line -> String? in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = Array(line[..<colon])
            let isSeen = name.withUnsafeBytes { CORS.needsNoExposing($0) }
            return isSeen ? nil : String(decoding: name, as: UTF8.self)
        }
        return names.joined(separator: ", ")
    }

    private func writeOrigin(_ fields: FieldSection, to lines: inout ByteBuffer) -> Bool {
        guard fields.count(of: .origin) == 1 else { return false }
        return fields.withFirst(.origin) { origin in
            lines.writeStaticString("Access-Control-Allow-Origin: ")
            lines.writeBytes(origin)
            lines.writeStaticString("\r\n")
            if contains(.allowCredentials) { lines.writeStaticString("Access-Control-Allow-Credentials: true\r\n") }
            return true
        } ?? false
    }

    /// Writes what a preflight for a mapped URL is answered with.
    func writePreflight(for fields: FieldSection, _ options: RuleOptions, to lines: inout ByteBuffer) {
        guard writeOrigin(fields, to: &lines) else { return }
        if !options.namesHeader("access-control-allow-methods") {
            // Where the rule answers every method, the requested one is named.
            let methods = options.allowedMethods
            let allowed = methods.isEmpty ? CORS.requestedMethod(fields) : Array(methods.joined(separator: ", ").utf8)
            MessageWriter.writeField("Access-Control-Allow-Methods", allowed ?? [], to: &lines)
        }
        if !options.namesHeader("access-control-allow-headers"), let names = CORS.requestedFieldNames(fields),
            !names.isEmpty
        {
            MessageWriter.writeField("Access-Control-Allow-Headers", names, to: &lines)
        }
        if fields.contains(.accessControlRequestPrivateNetwork),
            !options.namesHeader("access-control-allow-private-network")
        {
            lines.writeStaticString("Access-Control-Allow-Private-Network: true\r\n")
        }
        if !options.namesHeader("access-control-max-age") {
            lines.writeStaticString("Access-Control-Max-Age: 5\r\n")
        }
        for change in options.headers {
            guard let value = change.value, change.name.lowercased().hasPrefix("access-control-") else { continue }
            MessageWriter.writeField(change.name, value, to: &lines)
        }
        lines.writeStaticString(
            "Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers\r\n")
    }
}

extension RuleOptions {
    /// Whether the rule answers cross-origin requests by itself.
    var answersCORS: Bool { corsFields.contains(.allowOrigin) }

    /// What the proxy adds to an answer for scripts of other origins: nothing that `headers` sets or removes, and
    /// nothing at all where the rule decides by itself which origins may read it.
    var corsFields: CORSFields {
        guard cors == .auto, !namesHeader("access-control-allow-origin") else { return [] }
        var fields = CORSFields.all
        if namesHeader("access-control-allow-credentials") { fields.remove(.allowCredentials) }
        if namesHeader("access-control-expose-headers") { fields.remove(.exposeHeaders) }
        return fields
    }

    /// Whether `headers` sets or removes a field.
    func namesHeader(_ name: String) -> Bool { headers.contains { $0.name.equalsIgnoringASCIICase(name) } }
}
