import HTTPCaching
import HTTPSemantics
import NIOCore

func text(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

/// Calls `body` with the UTF-8 bytes of `text`.
func withBytes<Result>(_ text: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    Array(text.utf8).withUnsafeBytes(body)
}

/// A field section of lines written as `Name: value`.
func fields(_ lines: [String]) -> FieldSection {
    var section = FieldSection()
    for line in lines {
        let parts = line.split(separator: ":", maxSplits: 1)
        section.append(name: parts[0].utf8, value: parts.count > 1 ? Array(parts[1].drop { $0 == " " }.utf8) : [])
    }
    return section
}

/// The lines of a section as `Name: value`.
func lines(_ section: FieldSection) -> [String] {
    section.lines.map { line in
        section.withName(line) { text($0) } + ": " + section.withValue(line) { text($0) }
    }
}

/// Sun, 06 Nov 1994 08:49:37 GMT
let epoch: Int64 = 784_111_777

func date(_ seconds: Int64) -> String { text(HTTPDate.bytes(epoch + seconds)) }

/// The instant some seconds after ``epoch``.
func at(_ seconds: Int64) -> CacheInstant {
    CacheInstant(wall: epoch + seconds, steady: UInt64(1_000_000 + seconds) * 1_000_000_000)
}

func request(_ lines: String..., method: Method = .get, hasContent: Bool = false) -> CacheRequest {
    request(lines, method: method, hasContent: hasContent)
}

func request(_ lines: [String], method: Method = .get, hasContent: Bool = false) -> CacheRequest {
    CacheRequest(method: method, fields: fields(lines), hasContent: hasContent)
}

/// A response that was asked for and received at ``epoch`` plus `seconds`, with a Date of that time unless the lines
/// have one; a line that is only `Date` keeps it out.
func response(_ status: Int = 200, _ lines: [String], at seconds: Int64 = 0) -> OriginResponse {
    let hasDate = lines.contains { $0.lowercased().hasPrefix("date") }
    let all = (hasDate ? [] : ["Date: \(date(seconds))"]) + lines.filter { $0 != "Date" }
    return OriginResponse(
        status: status, reason: ByteBuffer(string: "Reason"), fields: fields(all), requestedAt: at(seconds),
        receivedAt: at(seconds))
}

func target(_ uri: String = "http://example.com/a") throws -> TargetURI { try TargetURI(uri) }

let privatePolicy = CachePolicy(mode: .private)

/// What is stored of a response to a request; nil where it is refused.
func stored(
    _ lines: String..., status: Int = 200, request: CacheRequest = request([]), at seconds: Int64 = 0,
    policy: CachePolicy = CachePolicy()
) throws -> StoredResponse? {
    try stored(lines, status: status, request: request, at: seconds, policy: policy)
}

func stored(
    _ lines: [String], status: Int = 200, request: CacheRequest = request([]), at seconds: Int64 = 0,
    policy: CachePolicy = CachePolicy()
) throws -> StoredResponse? {
    let verdict = Storing.verdict(request, target: try target(), response(status, lines, at: seconds), policy: policy)
    guard case .store(let stored) = verdict else { return nil }
    return stored
}

/// Why a response is refused; nil where it is stored.
func refusal(
    _ lines: [String], status: Int = 200, request: CacheRequest = request([]), target: String = "http://example.com/a",
    policy: CachePolicy = CachePolicy()
) throws -> StoreRefusal? {
    let verdict = Storing.verdict(
        request, target: try TargetURI(target), response(status, lines), policy: policy)
    guard case .refuse(let refusal) = verdict else { return nil }
    return refusal
}
