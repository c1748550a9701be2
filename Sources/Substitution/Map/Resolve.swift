public import HTTPSemantics
import NIOCore
import Patterns

/// What answers a request, with captures filled in.
public enum ResolvedSource: Sendable {
    /// A file below a folder: the folder's absolute path, and the file's path below it in exact bytes.
    ///
    /// The path has no empty segment, no `.`, no `..` and no NUL. Symbolic links are for the one who opens it to
    /// refuse.
    case file(root: String, path: [UInt8])
    /// A body and the media type that it has unless the rule sets one.
    case body([UInt8], defaultType: String)
    /// The request goes to its origin as it is.
    case forwardAsAsked
    /// The request goes to another URL.
    case forward(TargetURI)
    /// A redirect, with the value of Location.
    case redirect([UInt8])
    case block
    /// No file can have this path, or no request this URL.
    case refused(RefusalReason)
}

/// Why a rule can't answer a URL that it matches.
public enum RefusalReason: Error, Sendable, Equatable, CustomStringConvertible {
    case encodedSlash, nulByte, dotSegment, emptySegment, tooLong
    /// The URL to forward or redirect to is none with the captures filled in.
    case notAURL(TargetError)
    /// A capture brings more into the scheme or the authority of that URL than belongs there.
    case capturedAuthority

    /// Whether it is about a URL to forward or redirect to, and not about a file's path.
    public var isOfURL: Bool {
        switch self {
        case .encodedSlash, .nulByte, .dotSegment, .emptySegment, .tooLong: false
        case .notAURL, .capturedAuthority: true
        }
    }

    public var description: String {
        switch self {
        case .encodedSlash: "the path has an encoded slash (%2F) in it, which no file's name can have"
        case .nulByte: "the path has a NUL byte (%00) in it, which no file's name can have"
        case .dotSegment: "the path has '..' in it and could leave the root"
        case .emptySegment: "the path has two slashes in a row, and no file has an empty name"
        case .tooLong: "the path is longer than any file's can be"
        case .notAURL(let error): "the URL made with the captures is none: \(error)"
        case .capturedAuthority: "a capture in its host brings more than a host and a port"
        }
    }
}

extension SubstitutionMap {
    /// Finds out what a match answers with.
    ///
    /// A folder rule's path is its folder and the rest of the URL's path, decoded segment by segment; captures in a
    /// file's path are decoded likewise. A path that is empty or ends in `/` becomes that of its `index.html`. To a URL
    /// to forward or redirect to, the rest of a folder's path is added, and the request's query (not with a regular
    /// expression, which has seen the query). A redirect gets both only where it ends in `/` and the rule is a folder.
    ///
    /// - Parameter scratch: The one that the look-up was given, unused since.
    public func resolve(_ match: RuleMatch, uri: TargetURI, scratch: LookupScratch) -> ResolvedSource {
        let record = storage.records[match.id.index]
        switch record.source {
        case .file:
            do throws(RefusalReason) {
                let path = try filePath(record, match, uri, scratch)
                return .file(root: storage.files[Int(record.file)].root, path: path)
            } catch {
                return .refused(error)
            }
        case .text: return .body(text(record), defaultType: "text/plain; charset=utf-8")
        case .json: return .body(text(record), defaultType: "application/json")
        case .base64: return .body(text(record), defaultType: "application/octet-stream")
        case .forwardAsAsked: return .forwardAsAsked
        case .forward:
            var url = expanded(record, uri, scratch)
            append(match, record, uri, to: &url)
            do throws(TargetError) {
                let target = try TargetURI(absolute: ByteBuffer(bytes: url))
                return keepsAuthority(record, uri, scratch) ? .forward(target) : .refused(.capturedAuthority)
            } catch {
                return .refused(.notAURL(error))
            }
        case .redirect:
            var url = expanded(record, uri, scratch)
            if record.kind == .folder, url.last == UInt8(ascii: "/") { append(match, record, uri, to: &url) }
            let location = keepingHost(url, of: record)
            // A path stays on the host that was asked.
            guard record.isTemplate, location.first != UInt8(ascii: "/") || namesHost(record) else {
                return .redirect(location)
            }
            do throws(TargetError) {
                if url.first != UInt8(ascii: "/") { _ = try TargetURI(absolute: ByteBuffer(bytes: url)) }
                return keepsAuthority(record, uri, scratch) ? .redirect(location) : .refused(.capturedAuthority)
            } catch {
                return .refused(.notAURL(error))
            }
        case .block: return .block
        }
    }

    // MARK: Files

    private func filePath(
        _ record: RuleRecord, _ match: RuleMatch, _ uri: TargetURI, _ scratch: LookupScratch
    ) throws(RefusalReason) -> [UInt8] {
        var path: [UInt8] = []
        if record.isTemplate {
            let raw = expanded(record, uri, scratch)
            // A capture may begin or end in "/" where the template has one too: no empty segment comes of it.
            for part in raw.split(separator: UInt8(ascii: "/")) {
                if !path.isEmpty { path.append(UInt8(ascii: "/")) }
                try FilePathDecoding.append(segment: part, to: &path)
            }
            if raw.last == UInt8(ascii: "/"), !path.isEmpty { path.append(UInt8(ascii: "/")) }
        } else {
            path = text(record)
            if record.kind == .folder {
                let rest = uri.withBytes { Array($0[match.rest.clamped(to: 0..<$0.count)]) }
                try FilePathDecoding.append(rest: rest, to: &path)
            }
        }
        if path.isEmpty || path.last == UInt8(ascii: "/") { path += "index.html".utf8 }
        // (libc: PATH_MAX, which the root takes part of.)
        guard path.count < 4096 else { throw .tooLong }
        return path
    }

    // MARK: URLs

    private func append(_ match: RuleMatch, _ record: RuleRecord, _ uri: TargetURI, to url: inout [UInt8]) {
        guard record.kind != .expression else { return }
        let fragment = url.firstIndex(of: UInt8(ascii: "#")) ?? url.count
        url.removeSubrange(fragment...)
        var queryStart = url.firstIndex(of: UInt8(ascii: "?")) ?? url.count
        if record.kind == .folder {
            var rest = uri.withBytes { Array($0[match.rest.clamped(to: 0..<$0.count)]) }
            if queryStart == 0 || url[queryStart - 1] != UInt8(ascii: "/") { rest.insert(UInt8(ascii: "/"), at: 0) }
            url.insert(contentsOf: rest, at: queryStart)
            queryStart += rest.count
        }
        // The query as received: what the origin makes of its bytes is not ours to change.
        uri.rawPathAndQuery.withUnsafeReadableBytes { raw in
            guard let mark = raw.firstIndex(of: UInt8(ascii: "?")), mark + 1 < raw.count else { return }
            if queryStart == url.count {
                url.append(UInt8(ascii: "?"))
            } else if url.last != UInt8(ascii: "?"), url.last != UInt8(ascii: "&") {
                url.append(UInt8(ascii: "&"))
            }
            url.append(contentsOf: raw[(mark + 1)...])
        }
    }

    /// Whether the captures leave scheme and authority of a URL what the map makes of them.
    private func keepsAuthority(_ record: RuleRecord, _ uri: TargetURI, _ scratch: LookupScratch) -> Bool {
        guard record.isTemplate else { return true }
        return uri.withBytes { url in
            CapturedAuthority.isKept(
                by: storage.templates[Int(record.sourceOffset)].template, captures: scratch.captures, of: url)
        }
    }

    /// The value of Location for a redirect: one to a path stays on the host that was asked, whatever captures and the
    /// rest of a folder's path begin with. Clients take `//name`, and browsers `/\\name`, for another host (RFC 3986
    /// §4.2; URL standard, "relative slash state").
    private func keepingHost(_ url: [UInt8], of record: RuleRecord) -> [UInt8] {
        guard url.first == UInt8(ascii: "/"), !namesHost(record) else { return url }
        let rest = url.drop { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        return [UInt8(ascii: "/")] + rest
    }

    /// Whether the map itself begins a URL with `//`, and so with a host.
    private func namesHost(_ record: RuleRecord) -> Bool {
        if record.isTemplate {
            return storage.templates[Int(record.sourceOffset)].text.utf8.starts(with: "//".utf8)
        }
        return storage.arena[record.sourceRange].starts(with: "//".utf8)
    }

    // MARK: Texts

    /// The source's text with its captures, as they stand in the URL.
    private func expanded(_ record: RuleRecord, _ uri: TargetURI, _ scratch: LookupScratch) -> [UInt8] {
        guard record.isTemplate else { return text(record) }
        var output: [UInt8] = []
        uri.withBytes { url in
            storage.templates[Int(record.sourceOffset)].template.expand(
                into: &output, captures: scratch.captures, of: url)
        }
        return output
    }

    private func text(_ record: RuleRecord) -> [UInt8] { Array(storage.arena[record.sourceRange]) }
}

/// Makes a path below a folder of a URL's path.
enum FilePathDecoding {
    /// Appends what follows a folder's key, segment by segment; a `/` at its end stays.
    static func append(rest: [UInt8], to path: inout [UInt8]) throws(RefusalReason) {
        var index = 0
        while index < rest.count {
            var end = index
            while end < rest.count, rest[end] != UInt8(ascii: "/") { end += 1 }
            guard end > index else { throw .emptySegment }
            try append(segment: rest[index..<end], to: &path)
            if end < rest.count { path.append(UInt8(ascii: "/")) }
            index = end + 1
        }
    }

    /// Appends one segment, decoded.
    static func append(segment: ArraySlice<UInt8>, to path: inout [UInt8]) throws(RefusalReason) {
        let start = path.count
        PercentDecoding.append(segment, to: &path)
        let decoded = path[start...]
        if decoded.contains(UInt8(ascii: "/")) { throw .encodedSlash }
        if decoded.contains(0) { throw .nulByte }
        if decoded.elementsEqual("..".utf8) || decoded.elementsEqual(".".utf8) { throw .dotSegment }
    }
}
