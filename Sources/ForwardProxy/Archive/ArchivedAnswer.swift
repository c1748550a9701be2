import Archives
import Basics
import HTTPSemantics
import NIOCore
import Substitution

/// The entry of an archive as an answer: what was recorded, and how a request found it.
final class ArchivedAnswer {
    let archive: MapArchive
    let number: Int
    let step: ArchiveStep
    /// What was tolerated: `without t; scheme`; empty for the same URL.
    let tolerance: String
    /// The fields that are sent, without those of codings.
    let fields: [RecordedField]
    /// Whether the body is there for HEAD alone: its length was recorded.
    let isHeadOnly: Bool
    /// Whether the body was recorded with a content coding.
    let isCoded: Bool
    /// Whether the body is read from its beginning to its end for what is sent.
    let isInOrder: Bool
    /// The value of Content-Encoding, where the body is sent as it is in the archive.
    var passedCoding: [UInt8]?
    /// Whether Accept-Encoding tells if it is.
    var dependsOnCoding = false
    /// Whether the report knows that the entry has answered.
    var isReported = false

    init(
        _ archive: MapArchive, _ number: Int, _ step: ArchiveStep, tolerance: String, fields: [RecordedField],
        isHeadOnly: Bool, isCoded: Bool, isInOrder: Bool
    ) {
        self.archive = archive
        self.number = number
        self.step = step
        self.tolerance = tolerance
        self.fields = fields
        self.isHeadOnly = isHeadOnly
        self.isCoded = isCoded
        self.isInOrder = isInOrder
    }

    /// `checkout.har#17 without t; scheme`, as Cache-Status says it.
    var detail: String {
        let position = archive.position(number)
        return tolerance.isEmpty ? position : "\(position) \(tolerance)"
    }
}

extension AnswerFields {
    /// An entry's fields in their order, with what is said of a coding, and of the archive that has answered.
    static func archived(
        _ archived: ArchivedAnswer, _ body: AnswerContent.Body, in content: AnswerContent, options: RuleOptions,
        status: Int, answersCORS: Bool, identity: ProxyIdentity
    ) -> ReadyRepresentation {
        let hasContent = status >= 200 && status != 204 && status != 304
        var fields = archived.fields.compactMap { Field($0, body, isCoded: archived.isCoded) }
        if let coding = body.coding {
            fields.append(Field(name: "Content-Encoding", value: Array(coding.name.description.utf8), isContent: true))
        } else if let coding = archived.passedCoding {
            fields.append(Field(name: "Content-Encoding", value: coding, isContent: true))
        }
        if status == 200, !archived.isHeadOnly {
            fields.append(Field(name: "Accept-Ranges", value: Array("bytes".utf8), isContent: true))
            if !body.etag.isEmpty, !fields.contains(where: { $0.name.equalsIgnoringASCIICase("etag") }) {
                fields.append(Field(name: "ETag", value: body.etag, isContent: false))
            }
        }
        for header in options.headers {
            let replaced = fields.first { $0.name.equalsIgnoringASCIICase(header.name) }
            fields.removeAll { $0.name.equalsIgnoringASCIICase(header.name) }
            guard let value = header.value else { continue }
            fields.append(Field(name: header.name, value: value, isContent: replaced?.isContent ?? false))
        }
        if content.bodies.count > 1 || archived.dependsOnCoding { addToVary("Accept-Encoding", &fields) }
        for name in content.varyingFields { addToVary(name, &fields) }
        if answersCORS { addToVary("Origin", &fields) }
        func first(_ name: String) -> Field? { fields.first { $0.name.equalsIgnoringASCIICase(name) } }
        var made = RepresentationBuilder(
            status: status, mediaType: first("content-type")?.value ?? [], size: body.size,
            body: body.bytes.map { BodySegments($0, sealed: body.sealed) }, hasContent: hasContent)
        made.keepsOrder = true
        made.coding = body.coding
        // A tag without quotes is sent, and obeyed by nothing.
        made.etag = first("etag").flatMap { field in
            field.value.withUnsafeBytes { EntityTag($0) } == nil ? nil : field.value
        }
        made.lastModified = first("last-modified").flatMap { field in
            field.value.withUnsafeBytes { HTTPDate.parse($0, now: .max) }
        }
        made.fieldNames = fields.map { $0.name }
        for field in fields { made.add(field.name, field.value, as: field.role) }
        made.addCommon { lines in
            StatusFields.writeHit(rule: archived.detail, to: &lines)
            lines.writeImmutableBuffer(identity.viaLine)
        }
        return ReadyRepresentation(made)
    }
}

extension AnswerFields.Field {
    /// A recorded field in the answer with this body; nil where it is not said of it.
    ///
    /// - Parameter isCoded: whether the body was recorded with a coding.
    fileprivate init?(_ field: RecordedField, _ body: AnswerContent.Body, isCoded: Bool) {
        guard let sent = field.sent(decoded: isCoded && body.coding == nil) else { return nil }
        let name = String(decoding: sent.name, as: UTF8.self)
        self.init(name: name, value: sent.value, isContent: field.isNamed("content-type"))
    }
}
