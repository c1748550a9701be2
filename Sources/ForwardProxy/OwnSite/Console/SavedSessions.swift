import Basics
import Diagnostics
import HTTPSemantics
import NIOCore
import Sessions

/// What a path below `/sessions/` names: a session, or one of its entries.
struct SessionPath: Equatable {
    let name: SessionName
    /// The entry's number; nil for the session itself.
    let entry: Int?

    /// - Parameter path: `/sessions/NAME` or `/sessions/NAME/N`.
    init?(_ path: [UInt8]) {
        let rest = path.dropFirst("/sessions/".utf8.count)
        let parts = rest.split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count < 3, let name = SessionName(String(decoding: first, as: UTF8.self))
        else { return nil }
        self.name = name
        guard parts.count == 2 else {
            entry = nil
            return
        }
        let digits = parts[1]
        guard (1...3).contains(digits.count), digits.allSatisfy({ 0x30...0x39 ~= $0 }),
            digits.first != 0x30 || digits.count == 1
        else { return nil }
        entry = digits.reduce(0) { $0 &* 10 &+ Int($1 &- 0x30) }
    }
}

extension LoopContext {
    /// What `/sessions/NAME` and `/sessions/NAME/N` answer.
    func sessionPage(_ request: OwnRequest) -> OwnRoute.Answer {
        guard let path = SessionPath(request.path), let folder = proxy.configuration.sessionsFolder else {
            return .error(.noSuchSession)
        }
        let fields = request.request.head.fields
        // What a page of another site loads into itself; the browser sends a document's load there as such.
        if path.entry != nil, !fields.texts(named: "sec-fetch-dest").allSatisfy({ $0 == "document" }) {
            return .error(.onlyForDocuments)
        }
        let isRestoredNow = path.entry == nil && mayRestoreNow(request)
        let promise = eventLoop.makePromise(of: SavedSession.self)
        onFilePool({ () throws(SessionFolder.ReadFailure) in try SessionFolder(path: folder).read(path.name) }) {
            switch $0 {
            case .success(let session): promise.succeed(session)
            case .failure(let failure): promise.fail(ProxyError(failure, of: path.name).ofConsole)
            }
        }
        return .later(
            promise.futureResult.assumeIsolated().flatMapThrowing { session in
                guard let entry = path.entry else {
                    return SessionPage.saved(session, path.name, isRestoredNow: isRestoredNow)
                }
                guard session.entries.indices.contains(entry) else { throw ProxyError.noSuchEntry.ofConsole }
                return SessionPage.redirect(to: session.entries[entry])
            }.nonisolated())
    }

    /// Whether the request asks to restore without a click, and no page of another site can have led here: the browser
    /// says so, or, where it says nothing, it is on this machine, where each that says nothing is an old one or none.
    private func mayRestoreNow(_ request: OwnRequest) -> Bool {
        let query = request.request.head.withTarget { target in
            target.firstIndex(of: UInt8(ascii: "?")).map { Array(target[($0 &+ 1)...]) } ?? []
        }
        guard query.split(separator: UInt8(ascii: "&")).contains(where: { $0.elementsEqual("restore=now".utf8) }) else {
            return false
        }
        let sites = request.request.head.fields.texts(named: "sec-fetch-site")
        guard sites.isEmpty else { return sites.allSatisfy { $0 == "none" || $0 == "same-origin" } }
        return request.isFromLoopback
    }
}

extension ProxyError {
    static let noSuchSession = ProxyError(
        status: 404, type: "http_request_error", failure: "There is no session of that name.",
        advice: "'subproxy session list' names those that are saved.", isRefusal: true)

    fileprivate static let noSuchEntry = ProxyError(
        status: 404, type: "http_request_error", failure: "The session has no such entry.",
        advice: "'subproxy session show NAME' lists its entries, which are counted from 0.", isRefusal: true)

    fileprivate static let onlyForDocuments = ProxyError(
        status: 403, type: "http_request_denied",
        failure: "An entry of a session is for a tab, and not for a part of a page.",
        advice: "Open it as a page of its own.", isRefusal: true)

    /// Why a session's file can't be shown; nothing of what is in it is told.
    fileprivate init(_ failure: SessionFolder.ReadFailure, of name: SessionName) {
        switch failure {
        case .notFound: self = .noSuchSession
        case .system(let error):
            self.init(
                status: 500, type: "proxy_internal_error",
                failure: "The file \(name.text).yaml of the session can't be read: \(error.text).",
                advice: "Look at its mode and owner.")
        case .noSession(let error):
            let place = error.span.map { ":\($0.start.line):\($0.start.column)" } ?? ""
            self.init(
                status: 500, type: "proxy_internal_error", failure: "The file \(name.text).yaml\(place) is no session.",
                advice: "'subproxy session show \(name.text)' says what is wrong with it.")
        }
    }
}
