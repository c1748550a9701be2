import Files
import HTTPSemantics
import NIOCore
import Substitution

/// A rule's answer, ready to send in each of its encodings.
///
/// Bound to its event loop. The bodies' storage is shared with the store and with other loops' answers.
final class ReadyAnswer {
    // What each hit needs comes first, so that it is in few lines of the processor's cache.

    /// When the file was last seen to be as loaded, monotonic nanoseconds; `.max` where there is nothing to see.
    var checkedAt: UInt64
    var isChecking = false
    /// Whether a plain GET is answered by the ready bytes: nothing of the rule asks for more.
    let isPlain: Bool
    /// Whether all of it is in memory too, and the rule answers without asking the origin first.
    let isStraight: Bool
    /// Whether conditions and ranges of a request are for it.
    let isConditional: Bool
    /// What is added for scripts of other origins.
    let cors: CORSFields
    let status: Int
    /// The identity variant; where there is no other, `isSingle`.
    let first: ReadyRepresentation
    let isSingle: Bool
    private(set) var file: LoadedFile?
    /// The data that it is made from, of which it holds while they stay what they are; nil for other answers.
    let data: AnswerData?
    let variants: [ReadyRepresentation]
    let options: RuleOptions
    let position: String
    /// See ``AnswerContent/varyingFields``.
    let varyingFields: [String]
    /// The archive's entry that it is; nil for a rule's answer.
    let archived: ArchivedAnswer?

    /// How old a check may be at a hit: an edit shows in a request that comes 100 ms later.
    static let freshFor: UInt64 = 95_000_000
    /// From this age on a hit is still served, and a check is begun beside it.
    static let refreshAfter: UInt64 = 50_000_000

    init(
        options: RuleOptions, position: String, content: AnswerContent, identity: ProxyIdentity, checkedAt: UInt64
    ) {
        self.options = options
        self.position = position
        varyingFields = content.varyingFields
        file = content.file
        data = content.data
        archived = content.archived
        isConditional = content.isConditional
        self.checkedAt = checkedAt
        let status =
            content.isProblem || content.archived != nil
            ? content.defaultStatus : options.status ?? content.defaultStatus
        self.status = status
        isPlain = options.delay == .zero && options.rate == nil
        let cors = options.corsFields
        self.cors = cors
        // Reset Content has none of its own (RFC 9110 §15.3.6), but a length, unlike No Content.
        let isEmpty = status == 205
        let variants = content.bodies.map { body in
            AnswerFields.variant(
                of: isEmpty ? body.emptied : body, in: content, options: options, status: status, position: position,
                answersCORS: cors.contains(.allowOrigin),
                identity: identity)
        }
        self.variants = variants
        first = variants[0]
        isSingle = variants.count == 1
        isStraight = isPlain && options.when == .always && variants.allSatisfy { $0.body != nil }
    }

    /// The file was looked at and is as it was; `loaded` is the state to keep, which may be known to be settled now.
    func checked(_ loaded: LoadedFile, at time: UInt64) {
        file = loaded
        checkedAt = loaded.isPinned ? .max : time
    }

    func isFresh(_ now: UInt64) -> Bool {
        if let data { return data.isFresh(now) }
        return checkedAt == .max || now &- checkedAt < ReadyAnswer.freshFor
    }

    func wantsRefresh(_ now: UInt64) -> Bool {
        guard !isChecking else { return false }
        if let data { return data.wantsRefresh(now) }
        return checkedAt != .max && now &- checkedAt > ReadyAnswer.refreshAfter
    }

    /// Writes the full response of the identity variant.
    @inline(__always)
    func sendReady(
        to client: some ExchangeClient, isHead: Bool, second: Int64, tail: @autoclosure () -> ByteBuffer
    ) {
        first.send(to: client, isHead: isHead, second: second, tail: tail())
    }

    @inline(__always)
    func sendNotModified(to client: some ExchangeClient, second: Int64, tail: @autoclosure () -> ByteBuffer) {
        first.sendNotModified(to: client, second: second, tail: tail())
    }

    /// What the conditions of a request make of the identity variant.
    func evaluate(_ head: RequestHead, now: Int64) -> Preconditions.Outcome {
        first.evaluate(head, now: now)
    }
}

/// What a rule answers with, before it is serialised.
struct AnswerContent {
    struct Body {
        var coding: ContentCoding?
        var etag: [UInt8]
        var lastModified: Int64?
        var size: Int
        var bytes: ByteBuffer?
        /// The same as the kernel sends it by itself.
        var sealed: SealedContent?

        /// The same without content.
        var emptied: Body { Body(etag: etag, lastModified: lastModified, size: 0, bytes: ByteBuffer()) }
    }

    var bodies: [Body]
    var mediaType: [UInt8]
    var defaultStatus = 200
    /// The coding that the file itself is in, whatever a client accepts; nil for none that is known.
    var coding: ContentCoding?
    /// A Location of a redirect.
    var location: [UInt8]?
    var file: LoadedFile?
    /// The data that it is made from; nil for other answers, and where the same request may get another one.
    var data: AnswerData?
    /// Fields beside those that every answer has.
    var fields: [(name: String, value: [UInt8])] = []
    /// The fields of the request that it depends on, beside Accept-Encoding and Origin.
    var varyingFields: [String] = []
    /// The value of Cache-Control.
    var cacheControl: StaticString = "no-cache"
    /// Whether it says why there is no other answer: then the rule's `status` has no part in it.
    var isProblem = false
    /// Whether conditions and ranges of a request are for it, and not for what the request has changed.
    var isConditional = true
    /// Whether the proxy words it, and not the map or a file.
    var isOwnWording = false
    /// The archive's entry that it is, with the fields that were recorded; nil for a rule's answer.
    var archived: ArchivedAnswer?
    /// What the one body is sent as, where that is known already.
    var made: RepresentationBuilder?
}
