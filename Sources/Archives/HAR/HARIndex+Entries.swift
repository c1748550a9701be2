import HTTPSemantics

extension HARIndex {
    /// Reads the element of `entries` that stands here. One that is no object is an entry without URL, so that those
    /// behind it keep their numbers.
    mutating func readEntry() throws(JSONError) {
        _ = try scanner.significant()
        let offset = scanner.offset
        let entry = try reader.read(&scanner)
        var found = FoundEntry(at: EntryPlace(offset: offset, length: scanner.offset - offset))
        do throws(ArchiveProblem) {
            try classify(entry ?? HAREntry(), &found)
            try table.add(found, limits: input.limits)
        } catch {
            throw JSONError(kind: .refused, offset: error.offset ?? offset, message: error.message)
        }
        if let entry { note(entry, found) }
        if scanner.offset - progress > 1 << 23 {
            progress = scanner.offset
            input.progress(progress)
        }
    }

    private mutating func classify(_ entry: HAREntry, _ found: inout FoundEntry) throws(ArchiveProblem) {
        let request = entry.request
        found.url = request.url
        found.method = request.method
        found.time = entry.time
        if request.url.isEmpty { warn("it has no URL", at: found.place.offset) }
        if request.isURLCut, request.url.starts(withIgnoringCase: "http") { found.unusable = .longURL }
        if !request.method.utf8.allSatisfy({ $0.isMember(of: .token) }) || request.method.isEmpty {
            found.unusable = .method
            found.method = "GET"
        }
        found.hasRequestBody = try hasRequestBody(request.body)
        let response = entry.response ?? HARResponse()
        found.status = response.status ?? 0
        found.varies = response.fields.varies
        if response.fields.faults > 0 {
            let count = response.fields.faults
            warn("\(count) of its fields \(count == 1 ? "isn't" : "aren't") valid", at: response.fields.faultOffset)
        }
        if entry.response == nil || entry.hasFailed || response.status == 0 || response.status == -1 {
            found.unusable = .failed
        }
        let body = try body(of: response, method: found.method)
        guard found.unusable == nil else { return }
        found.unusable = HARIndex.reason(response, body, input.limits)
        if found.status == 304, found.unusable == nil { found.status = 200 }
        found.isPartial = found.status == 206 && !HARResponseRules.isWhole(response.fields.contentRange)
    }

    /// Why a response that was recorded can't answer.
    private static func reason(_ response: HARResponse, _ body: HARBody, _ limits: ArchiveLimits) -> Unusable? {
        guard let status = response.status else { return .status }
        if response.fields.bytes > limits.headerBytes { return .longFields }
        switch body {
        case .missing: return .bodyNotRecorded
        case .empty: return status == 304 ? .notModified : nil
        case .text, .file: return nil
        }
    }

    private mutating func hasRequestBody(_ content: HARContent) throws(ArchiveProblem) -> Bool {
        guard let path = try content.filePath() else { return content.hasBytes || content.hasParameters }
        guard try isMissing(path, at: content.fileOffset) else { return true }
        warn("the file of its request's body, '\(path)', is missing", at: content.fileOffset)
        return false
    }

    /// The body of a response, whose file is there.
    private mutating func body(of response: HARResponse, method: String) throws(ArchiveProblem) -> HARBody {
        let body = try HARBody(response.content, method: method, status: response.status ?? 0)
        guard case .file(let path) = body, try isMissing(path, at: response.content.fileOffset) else { return body }
        warn("the file of its body, '\(path)', is missing", at: response.content.fileOffset)
        return .missing
    }

    private func isMissing(_ path: String, at offset: Int) throws(ArchiveProblem) -> Bool {
        guard try files.file(path) == nil else { return false }
        guard !files.isLink(path) else {
            throw .error(
                "the _file '\(path)' is a symbolic link, or leads through one; copy the file there", at: offset)
        }
        return true
    }

    /// Remembers which page an entry is of.
    private mutating func note(_ entry: HAREntry, _ found: FoundEntry) {
        guard !entry.page.isEmpty, found.method == "GET", !found.url.isEmpty else { return }
        let known = entriesOfPages[entry.page]
        guard known?.document == nil, known != nil || entriesOfPages.count < 10_000 else { return }
        let index = table.count - 1
        let isDocument = found.unusable == nil && HARIndex.isDocument(entry.response?.content.mediaType ?? [])
        entriesOfPages[entry.page] = (known?.first ?? index, isDocument ? index : nil)
    }

    private static func isDocument(_ type: [UInt8]) -> Bool {
        type.starts(withIgnoringCase: "text/html") || type.starts(withIgnoringCase: "application/xhtml+xml")
            || type.starts(withIgnoringCase: "image/svg+xml")
    }

    // MARK: Problems

    /// Warns of the entry that is read now.
    mutating func warn(_ message: String, at offset: Int) {
        guard warnings.count < HARIndex.warningLimit else {
            furtherWarnings += 1
            return
        }
        warnings.append(.warning(message, at: offset, entry: isInEntry ? table.count + 1 : nil))
    }
}
