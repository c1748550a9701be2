import HTTPSemantics

/// Reads an entry of a HAR with a scanner that stands before it.
///
/// Of a member given twice the last counts; a member of another type than HAR's is as one that is missing.
struct HAREntryReader {
    /// Whether fields, texts and parameters are kept, or only what an index takes.
    let isWhole: Bool
    let limits: ArchiveLimits
    private var name: [UInt8] = []
    private var value: [UInt8] = []

    init(isWhole: Bool, limits: ArchiveLimits) {
        self.isWhole = isWhole
        self.limits = limits
    }

    /// - Returns: nil where no object stands here; what does is skipped.
    mutating func read(_ scanner: inout JSONScanner) throws(JSONError) -> HAREntry? {
        guard try scanner.enterObject() else {
            try scanner.skipValue()
            return nil
        }
        var entry = HAREntry()
        while let name = try scanner.nextMember() {
            if name.equals("request") {
                entry.request = try request(&scanner)
            } else if name.equals("response") {
                entry.response = try response(&scanner, &entry.hasFailed)
            } else if name.equals("startedDateTime") {
                entry.time = try scanner.string().flatMap { HARTime.milliseconds($0) }
            } else if name.equals("pageref") {
                entry.page = try scanner.string().map { Array($0.prefix(HARPages.nameBytes)) } ?? []
            } else if name.equals("time"), isWhole {
                entry.duration = try scanner.number().flatMap { HARTime.duration($0) }
            } else if name.equals("serverIPAddress"), isWhole {
                entry.serverAddress = try scanner.string().map { Array($0.prefix(64)) } ?? []
            } else if HAREntryReader.isFailure(name) {
                if try !(scanner.string()?.isEmpty ?? true) { entry.hasFailed = true }
            } else {
                try scanner.skipValue()
            }
        }
        return entry
    }

    private static func isFailure(_ name: UnsafeRawBufferPointer) -> Bool {
        name.first == UInt8(ascii: "_")
            && (name.equals("_error") || name.equals("_failureText") || name.equals("_blockedReason"))
    }

    // MARK: Request

    private mutating func request(_ scanner: inout JSONScanner) throws(JSONError) -> HARRequest {
        var request = HARRequest()
        guard try scanner.enterObject() else {
            try scanner.skipValue()
            return request
        }
        while let name = try scanner.nextMember() {
            if name.equals("method") {
                request.method = try scanner.string().map { HAREntryReader.method($0) } ?? "GET"
            } else if name.equals("url") {
                request.url = try scanner.string().map { HARURL.normal($0) } ?? []
                request.isURLCut = scanner.isCut
            } else if name.equals("headers"), isWhole {
                request.fields = try fields(&scanner)
            } else if name.equals("httpVersion"), isWhole {
                request.version = try version(&scanner)
            } else if name.equals("postData") {
                request.body = try content(&scanner)
            } else {
                try scanner.skipValue()
            }
        }
        return request
    }

    private func version(_ scanner: inout JSONScanner) throws(JSONError) -> [UInt8] {
        try scanner.string().map { Array($0.prefix(64)) } ?? []
    }

    /// The method; those that are always in capitals are so, however they are written (Fetch, “normalize”).
    private static func method(_ text: UnsafeRawBufferPointer) -> String {
        let known: [StaticString] = ["get", "post", "head", "put", "delete", "options"]
        let method = String(decoding: text, as: UTF8.self)
        return known.contains { text.equals($0) } ? method.uppercased() : method
    }

    // MARK: Response

    private mutating func response(
        _ scanner: inout JSONScanner, _ hasFailed: inout Bool
    ) throws(JSONError) -> HARResponse? {
        guard try scanner.enterObject() else {
            try scanner.skipValue()
            return nil
        }
        var response = HARResponse()
        while let name = try scanner.nextMember() {
            if name.equals("status") {
                response.status = try scanner.integer()
            } else if name.equals("headers") {
                response.fields = try fields(&scanner)
            } else if name.equals("content") {
                response.content = try content(&scanner)
            } else if name.equals("statusText"), isWhole {
                response.reason = try scanner.string().map { Array($0) } ?? []
            } else if name.equals("httpVersion"), isWhole {
                response.version = try version(&scanner)
            } else if name.equals("redirectURL"), isWhole {
                response.redirect = try scanner.string().map { Array($0) } ?? []
            } else if HAREntryReader.isFailure(name) {
                if try !(scanner.string()?.isEmpty ?? true) { hasFailed = true }
            } else {
                try scanner.skipValue()
            }
        }
        return response
    }

    // MARK: Bodies

    private mutating func content(_ scanner: inout JSONScanner) throws(JSONError) -> HARContent {
        var content = HARContent()
        guard try scanner.enterObject() else {
            try scanner.skipValue()
            return content
        }
        while let name = try scanner.nextMember() {
            if name.equals("text") {
                content.text = try scanner.stringRange()
            } else if name.equals("size") {
                content.size = try scanner.integer()
            } else if name.equals("encoding") {
                content.isBase64 = try scanner.string()?.equalsIgnoringCase("base64") ?? false
            } else if name.equals("mimeType") {
                content.mediaType = try scanner.string().map { Array($0.prefix(1024)) } ?? []
            } else if name.equals("_file") {
                _ = try scanner.significant()
                content.fileOffset = scanner.offset
                content.file = try scanner.string().map { Array($0.prefix(8192)) }
                if content.file?.isEmpty ?? false { content.file = nil }
            } else if name.equals("params") {
                try parameters(&scanner, into: &content)
            } else {
                try scanner.skipValue()
            }
        }
        return content
    }

    private mutating func parameters(
        _ scanner: inout JSONScanner, into content: inout HARContent
    ) throws(JSONError) {
        content.parameters = []
        content.hasParameters = false
        guard try scanner.enterArray() else { return try scanner.skipValue() }
        while try scanner.nextElement() {
            content.hasParameters = true
            guard isWhole, content.parameters.count < 10_000, try scanner.enterObject() else {
                try scanner.skipValue()
                continue
            }
            var parameter = HARParameter()
            while let name = try scanner.nextMember() {
                if name.equals("name") {
                    parameter.name = try scanner.string().map { Array($0) } ?? []
                } else if name.equals("value") {
                    parameter.value = try scanner.string().map { Array($0) } ?? []
                } else if name.equals("fileName") {
                    parameter.fileName = try scanner.string().map { Array($0) }
                } else if name.equals("contentType") {
                    parameter.mediaType = try scanner.string().map { Array($0) }
                } else {
                    try scanner.skipValue()
                }
            }
            content.parameters.append(parameter)
        }
    }

    // MARK: Fields

    /// Reads a list of objects with `name` and `value`, or, as some writers have it, an object of names and values.
    private mutating func fields(_ scanner: inout JSONScanner) throws(JSONError) -> HARFields {
        var fields = HARFields()
        if try scanner.enterObject() {
            while let member = try scanner.nextMember() {
                name.replace(with: member)
                let place = scanner.offset
                let isThere = try keepValue(&scanner)
                add(isThere, place, to: &fields)
            }
            return fields
        }
        guard try scanner.enterArray() else {
            try scanner.skipValue()
            return fields
        }
        while try scanner.nextElement() {
            _ = try scanner.significant()
            let place = scanner.offset
            name.removeAll(keepingCapacity: true)
            guard try scanner.enterObject() else {
                try scanner.skipValue()
                continue
            }
            var isThere = false
            while let member = try scanner.nextMember() {
                if member.equals("name") {
                    if let text = try scanner.string() { name.replace(with: text) }
                } else if member.equals("value") {
                    isThere = try keepValue(&scanner)
                } else {
                    try scanner.skipValue()
                }
            }
            add(isThere, place, to: &fields)
        }
        return fields
    }

    /// Keeps a string, or the strings of a list, as Polly.JS has repetitions, joined as Chrome joins them.
    private mutating func keepValue(_ scanner: inout JSONScanner) throws(JSONError) -> Bool {
        value.removeAll(keepingCapacity: true)
        guard try scanner.significant() == UInt8(ascii: "["), try scanner.enterArray() else {
            guard let text = try scanner.string() else { return false }
            value.append(contentsOf: text)
            return !scanner.isCut
        }
        var isValid = true
        while try scanner.nextElement() {
            guard let text = try scanner.string(), !scanner.isCut, value.count &+ text.count <= limits.headerBytes
            else {
                isValid = false
                continue
            }
            if !value.isEmpty { value.append(0x0A) }
            value.append(contentsOf: text)
        }
        return isValid
    }

    /// Adds the line of ``name`` and ``value``, or several where a writer has joined them with LF, as Chrome does with
    /// fields that were repeated. Cookies may be joined with CR LF too.
    private mutating func add(_ isThere: Bool, _ place: Int, to fields: inout HARFields) {
        guard name.first != UInt8(ascii: ":") else { return }
        guard isThere, name.withUnsafeBytes(\.isToken) else { return fault(place, &fields) }
        let isCookie = name.count == 10 && RecordedField.isName("set-cookie", name)
        if !isCookie {
            if addLine(value[...], to: &fields) { return }
            guard value.contains(0x0A), !value.contains(0x0D) else { return fault(place, &fields) }
        }
        for line in value.split(separator: 0x0A) where !addLine(line, to: &fields) { fault(place, &fields) }
    }

    /// - Returns: false where it is no line of a field.
    private func addLine(_ line: ArraySlice<UInt8>, to fields: inout HARFields) -> Bool {
        line.withUnsafeBytes { line in
            let line = line.trimmingFieldSpace
            var isValid = true
            for byte in line where (byte < 0x20 && byte != 0x09) || byte == 0x7F { isValid = false }
            guard isValid else { return false }
            let (bytes, overflow) = fields.bytes.addingReportingOverflow(name.count &+ line.count &+ 4)
            fields.bytes = overflow ? .max : bytes
            note(line, in: &fields)
            if isWhole, fields.bytes <= max(limits.headerBytes, 1 << 20) {
                fields.lines.append(RecordedField(name, Array(line)))
            }
            return true
        }
    }

    private func note(_ value: UnsafeRawBufferPointer, in fields: inout HARFields) {
        switch name.count {
        case 4 where RecordedField.isName("vary", name): fields.varies = true
        case 8 where RecordedField.isName("location", name): fields.hasLocation = true
        case 13 where fields.contentRange == nil && RecordedField.isName("content-range", name):
            fields.contentRange = Array(value.prefix(256))
        default: break
        }
    }

    private func fault(_ place: Int, _ fields: inout HARFields) {
        if fields.faults == 0 { fields.faultOffset = place }
        fields.faults &+= 1
    }
}

extension [UInt8] {
    /// Takes other bytes, in the memory that it has.
    fileprivate mutating func replace(with bytes: UnsafeRawBufferPointer) {
        removeAll(keepingCapacity: true)
        append(contentsOf: bytes)
    }
}

extension UnsafeRawBufferPointer {
    /// Without white space at the ends, CR among it.
    fileprivate var trimmingFieldSpace: UnsafeRawBufferPointer {
        var start = 0
        var end = count
        while start < end, self[start] == 0x20 || self[start] == 0x09 { start &+= 1 }
        while end > start, self[end &- 1] == 0x20 || self[end &- 1] == 0x09 || self[end &- 1] == 0x0D { end &-= 1 }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }
}

extension RecordedField {
    /// Whether a name is this one, whatever the case of ASCII letters.
    static func isName(_ other: StaticString, _ name: [UInt8]) -> Bool {
        name.withUnsafeBytes { $0.equalsIgnoringCase(other) }
    }
}
