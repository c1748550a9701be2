import HTTP1
import HTTPSemantics
import NIOCore

/// The response to one request, planned from a ready answer: the whole answer, a 304, a 412 or ranges, with the fields
/// that depend on the request. Planning needs no I/O, so bytes in memory and streamed files are planned alike.
struct AnswerPlan {
    /// A piece of the body.
    enum Piece {
        case bytes(ByteBuffer)
        /// Offsets into the representation.
        case range(Range<Int>)
    }

    var status: Int
    var lines: ByteBuffer
    var pieces: [Piece]
    /// Content-Length of the response; nil where it has none (304, 204).
    var length: Int?
    var variant: ReadyRepresentation
    /// The reason phrase of an origin; nil writes the standard one.
    var reason: ByteBuffer?

    /// What is answered with, at one time: a rule's answer or a stored response.
    struct Source {
        var representation: ReadyRepresentation
        var status: Int
        /// The field lines that change by the second.
        var tail: ByteBuffer
        /// Unix seconds.
        var now: Int64
        /// The Date of the response that the validators came with; Unix seconds.
        var date: Int64
        /// What If-Modified-Since is compared with: Last-Modified, or for a stored response without one its Date (RFC
        /// 9111 §4.3.2); Unix seconds.
        var modificationDate: Int64?
        /// Whether conditions and ranges of the request are for it.
        var isConditional = true
        /// Whether parts are sent in the order in which they stand in the body, whatever the order in which they are
        /// asked for, as RFC 9110 §15.3.7.2 allows.
        var isInOrder = false
        /// The fields that are added for scripts of other origins.
        var cors: CORSFields
    }

    /// Plans the response to `request` by a rule's answer.
    static func make(_ answer: ReadyAnswer, for request: Request, date: DateStamp) -> AnswerPlan {
        let variant = answer.variant(accepting: request.head.fields)
        return make(
            Source(
                representation: variant, status: answer.status, tail: date.line, now: date.unixSeconds,
                date: date.unixSeconds, modificationDate: variant.lastModified, isConditional: answer.isConditional,
                isInOrder: answer.archived?.isInOrder ?? false, cors: answer.cors),
            for: request)
    }

    /// Plans the response to `request`.
    ///
    /// - Parameter random: bits of the multipart boundary, which must not be guessable.
    static func make(
        _ answer: Source, for request: Request,
        random: () -> (UInt64, UInt64) = { (.random(in: .min ... .max), .random(in: .min ... .max)) }
    ) -> AnswerPlan {
        let fields = request.head.fields
        let variant = answer.representation
        var plan = AnswerPlan(
            status: answer.status, lines: ByteBuffer(), pieces: [.range(0..<variant.size)], length: variant.size,
            variant: variant)
        guard answer.status == 200, answer.isConditional else {
            if answer.status == 204 || answer.status == 304 { plan.length = nil }
            plan.pieces = variant.size > 0 ? plan.pieces : []
            plan.writeLines(content: true, answer, fields)
            return plan
        }
        let preconditions = variant.withTag { tag in
            Preconditions.evaluate(
                method: request.head.method, fields: fields, etag: tag, lastModified: answer.modificationDate,
                now: answer.now)
        }
        switch preconditions {
        case .notModified:
            plan.status = 304
            plan.pieces = []
            plan.length = nil
            plan.writeLines(content: false, answer, fields)
            return plan
        case .failed:
            plan.status = 412
            plan.pieces = []
            plan.length = 0
            plan.writeLines(content: false, answer, fields)
            return plan
        case .proceed: break
        }
        var selection = ByteRangeSelection(method: request.head.method, fields: fields, size: variant.size)
        if selection != .whole {
            let holds = variant.withTag { tag in
                Preconditions.ifRangeHolds(
                    fields, etag: tag, lastModified: variant.lastModified, date: answer.date)
            }
            if !holds { selection = .whole }
        }
        plan.select(selection, answer, fields, random)
        return plan
    }

    private mutating func select(
        _ selection: ByteRangeSelection, _ answer: Source, _ fields: FieldSection,
        _ random: () -> (UInt64, UInt64)
    ) {
        switch selection {
        case .whole:
            writeLines(content: true, answer, fields)
        case .unsatisfiable:
            status = 416
            pieces = []
            length = 0
            writeLines(content: false, answer, fields)
            MessageWriter.writeField("Content-Range", ContentRange.unsatisfied(size: variant.size), to: &lines)
        case .satisfiable(let asked):
            let ranges = answer.isInOrder ? asked.sorted { $0.lowerBound < $1.lowerBound } : asked
            if ranges.count == 1, let range = ranges.first {
                status = 206
                pieces = [.range(range)]
                length = range.count
                writeLines(content: true, answer, fields)
                MessageWriter.writeField("Content-Range", ContentRange.satisfied(range, size: variant.size), to: &lines)
                return
            }
            guard
                let multipart = MultipartPlan(
                    ranges: ranges, size: variant.size, partType: variant.mediaType, randomBits: random())
            else { return writeLines(content: true, answer, fields) }
            status = 206
            length = multipart.totalLength
            pieces = multipart.parts.flatMap { [.bytes(ByteBuffer(bytes: $0.head)), .range($0.range)] }
            pieces.append(.bytes(ByteBuffer(bytes: multipart.closing)))
            writeLines(content: true, answer, fields, type: multipart.contentType)
        }
    }

    private mutating func writeLines(
        content: Bool, _ answer: Source, _ fields: FieldSection, type: [UInt8]? = nil
    ) {
        let isFull = content && type == nil && status != 206
        if isFull {
            lines.writeImmutableBuffer(variant.fullLines.before)
        } else if content {
            if let type {
                MessageWriter.writeField("Content-Type", type, to: &lines)
                lines.writeImmutableBuffer(variant.linesWithoutType)
            } else {
                lines.writeImmutableBuffer(variant.partLines)
            }
        }
        if let length {
            lines.writeStaticString("Content-Length: ")
            lines.writeDecimal(length)
            lines.writeStaticString("\r\n")
        }
        lines.writeImmutableBuffer(isFull ? variant.fullLines.behind : variant.commonLines)
        answer.cors.write(for: fields, exposed: variant.exposed, to: &lines)
        lines.writeImmutableBuffer(answer.tail)
    }
}

extension ReadyAnswer {
    /// The encoding that a request gets (RFC 9110 §12.5.3).
    func variant(accepting fields: FieldSection) -> ReadyRepresentation {
        guard variants.count > 1 else { return variants[0] }
        // A recorded body is coded as its origin has coded it; a part of it is one of what the coding stands for.
        if archived != nil, fields.contains(.range), let plain = variants.first(where: { $0.coding == nil }) {
            return plain
        }
        var available = ContentCodingSet.identity
        for variant in variants {
            if let coding = variant.coding { available.insert(ContentCodingSet(coding)) }
        }
        let coding = AcceptEncoding(fields).preferred(among: available)
        return variants.first { $0.coding == coding } ?? variants[0]
    }
}
