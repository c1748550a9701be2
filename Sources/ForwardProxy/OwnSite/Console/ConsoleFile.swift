import CConsole
import HTTP1
import HTTPSemantics
import NIOCore

/// A script, a style or an image of the proxy's own pages, which is part of the program.
struct ConsoleFile: Sendable {
    let name: String
    let type: String
    let body: ByteBuffer
    let etag: [UInt8]

    private static let all: [String: ConsoleFile] = {
        var files: [String: ConsoleFile] = [:]
        var number = 0
        while let file = console_file(number)?.pointee {
            number &+= 1
            let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.length))
            let name = String(cString: file.name)
            files[name] = ConsoleFile(
                name: name, type: String(cString: file.type), body: ByteBuffer(bytes: bytes),
                etag: ContentTag.make(bytes))
        }
        return files
    }()

    /// The file of a name; nil where there is none.
    static func named(_ name: String) -> ConsoleFile? { all[name] }

    /// What `/console/NAME` answers.
    static func answer(_ request: OwnRequest) -> OwnRoute.Answer {
        let name = String(decoding: request.path.dropFirst("/console/".utf8.count), as: UTF8.self)
        guard let file = named(name) else { return .error(.noSuchFile) }
        let head = request.request.head
        let outcome = file.etag.withUnsafeBytes { etag in
            Preconditions.evaluate(method: head.method, fields: head.fields, etag: etag, lastModified: nil, now: 0)
        }
        var page =
            if case .notModified = outcome {
                OwnPage(status: 304, type: "", body: ByteBuffer())
            } else {
                OwnPage(type: file.type, body: file.body)
            }
        page.caching = "no-cache"
        page.policy = .console
        MessageWriter.writeField("ETag", file.etag, to: &page.lines)
        return .page(page)
    }
}

extension ProxyError {
    fileprivate static let noSuchFile = ProxyError(
        status: 404, type: "http_request_error", failure: "The proxy's own pages have no such file.",
        advice: "Load the page anew: it may be that of another version.", isRefusal: true)
}
