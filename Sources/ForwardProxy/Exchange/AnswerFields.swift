import Basics
import HTTP1
import HTTPSemantics
import NIOCore
import Substitution

/// Makes the fields of a rule's answer: the representation's own, what the rule sets or removes, and what says that
/// the map answered.
enum AnswerFields {
    struct Field {
        var name: String
        var value: [UInt8]
        var isContent: Bool

        var role: RepresentationBuilder.Role {
            var name = name
            if name.withUTF8({ RepresentationBuilder.isDigest(UnsafeRawBufferPointer($0)) }) { return .digest }
            guard isContent else { return .common }
            return name.equalsIgnoringASCIICase("content-type") ? .type : .content
        }
    }

    static func variant(
        of body: AnswerContent.Body, in content: AnswerContent, options: RuleOptions, status: Int, position: String,
        answersCORS: Bool, identity: ProxyIdentity
    ) -> ReadyRepresentation {
        if let archived = content.archived {
            return self.archived(
                archived, body, in: content, options: options, status: status, answersCORS: answersCORS,
                identity: identity)
        }
        return ReadyRepresentation(
            content.made
                ?? builder(
                    of: body, in: content, options: options, status: status, position: position,
                    answersCORS: answersCORS, identity: identity))
    }

    /// What a rule's answer is made of.
    static func builder(
        of body: AnswerContent.Body, in content: AnswerContent, options: RuleOptions, status: Int, position: String,
        answersCORS: Bool, identity: ProxyIdentity
    ) -> RepresentationBuilder {
        let hasContent = status >= 200 && status != 204 && status != 304
        var fields: [Field] = []
        fields.reserveCapacity(12)
        if hasContent, !content.mediaType.isEmpty, content.location == nil || body.size > 0 {
            fields.append(Field(name: "Content-Type", value: content.mediaType, isContent: true))
        }
        if let coding = body.coding ?? content.coding {
            fields.append(Field(name: "Content-Encoding", value: Array(coding.name.description.utf8), isContent: true))
        }
        if let location = content.location {
            fields.append(Field(name: "Location", value: location, isContent: false))
        }
        if status == 200, content.isConditional {
            fields.append(Field(name: "Accept-Ranges", value: Array("bytes".utf8), isContent: true))
            fields.append(Field(name: "ETag", value: body.etag, isContent: false))
            if let lastModified = body.lastModified {
                fields.append(Field(name: "Last-Modified", value: HTTPDate.bytes(lastModified), isContent: false))
            }
        }
        for field in content.fields { fields.append(Field(name: field.name, value: field.value, isContent: false)) }
        // Who kept one of several answers would not ask for the next one.
        let cacheControl: StaticString = options.isInTurn ? "no-store" : content.cacheControl
        fields.append(Field(name: "Cache-Control", value: Array("\(cacheControl)".utf8), isContent: false))
        if content.isOwnWording {
            fields.append(Field(name: "X-Content-Type-Options", value: Array("nosniff".utf8), isContent: false))
        }
        for header in options.headers where !(content.isProblem && isOfProblem(header.name)) {
            let replaced = fields.first { $0.name.equalsIgnoringASCIICase(header.name) }
            fields.removeAll { $0.name.equalsIgnoringASCIICase(header.name) }
            guard let value = header.value else { continue }
            fields.append(Field(name: header.name, value: value, isContent: replaced?.isContent ?? false))
        }
        if content.bodies.count > 1 { addToVary("Accept-Encoding", &fields) }
        for name in content.varyingFields { addToVary(name, &fields) }
        // Also to a request without one: whoever stores that response must not give it to a script of another origin
        // (Fetch standard, "CORS protocol and HTTP caches").
        if answersCORS { addToVary("Origin", &fields) }

        func first(_ name: String) -> Field? { fields.first { $0.name.equalsIgnoringASCIICase(name) } }
        var made = RepresentationBuilder(
            status: status, mediaType: first("content-type")?.value ?? content.mediaType, size: body.size,
            body: body.bytes.map { BodySegments($0, sealed: body.sealed) }, hasContent: hasContent)
        made.coding = body.coding
        made.etag = first("etag")?.value
        // What is sent is what conditions are compared with, whoever has said it.
        made.lastModified = first("last-modified").flatMap { field in
            field.value.withUnsafeBytes { HTTPDate.parse($0, now: Int64(wallNanoseconds() / 1_000_000_000)) }
        }
        made.fieldNames = fields.map { $0.name }
        for field in fields { made.add(field.name, field.value, as: field.role) }
        made.addCommon { lines in
            StatusFields.writeHit(rule: position, to: &lines)
            lines.writeImmutableBuffer(identity.viaLine)
        }
        return made
    }

    /// Whether a field is what makes a problem one: what a rule says of it is about its other answers.
    private static func isOfProblem(_ name: String) -> Bool {
        name.equalsIgnoringASCIICase("content-type") || name.equalsIgnoringASCIICase("cache-control")
    }

    /// Says that the answer depends on a field of the request, whatever the rule says of Vary.
    static func addToVary(_ name: String, _ fields: inout [Field]) {
        guard let index = fields.firstIndex(where: { $0.name.equalsIgnoringASCIICase("vary") }) else {
            return fields.append(Field(name: "Vary", value: Array(name.utf8), isContent: false))
        }
        let names = fields[index].value.split(separator: UInt8(ascii: ",")).map { element in
            String(decoding: element.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
        }
        guard !names.contains(where: { $0 == "*" || $0.equalsIgnoringASCIICase(name) }) else { return }
        fields[index].value += Array((names.isEmpty ? name : ", \(name)").utf8)
    }

    /// The names that a script of another origin may read besides the safelisted ones (Fetch standard,
    /// "CORS-safelisted response-header name"): `*` does not count for requests with credentials.
    static func exposedNames(_ names: [String]) -> String {
        let others = names.filter { name in
            !Array(name.utf8).withUnsafeBytes { CORS.needsNoExposing($0) }
        }
        return (others + ["Cache-Status", "Content-Range", "Date", "Via"]).joined(separator: ", ")
    }
}

extension String {
    /// Whether the names are the same but for the case of ASCII letters.
    func equalsIgnoringASCIICase(_ other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        var (one, two) = (self, other)
        return one.withUTF8 { one in
            two.withUTF8 { UnsafeRawBufferPointer(one).equalsIgnoringCase(UnsafeRawBufferPointer($0)) }
        }
    }
}
