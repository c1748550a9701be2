/// An entry as it stands in the file (HAR 1.2, “entries”), with what other members than HAR's say of it.
struct HAREntry {
    var request = HARRequest()
    /// Nil where there is none: some writers leave it out where the exchange failed.
    var response: HARResponse?
    /// Unix milliseconds.
    var time: Int64?
    /// The `id` of its page: up to ``HARPages/nameBytes`` of it.
    var page: [UInt8] = []
    /// Milliseconds.
    var duration: Int64?
    var serverAddress: [UInt8] = []
    /// What `_error`, `_failureText` or `_blockedReason` say, in the response or beside it.
    var hasFailed = false
}

struct HARRequest {
    var method = "GET"
    var version: [UInt8] = []
    var url: [UInt8] = []
    /// Whether the URL is longer than what was read of it.
    var isURLCut = false
    var fields = HARFields()
    var body = HARContent()
}

struct HARResponse {
    /// Nil where it is no integer.
    var status: Int?
    var reason: [UInt8] = []
    var version: [UInt8] = []
    var fields = HARFields()
    var content = HARContent()
    var redirect: [UInt8] = []
}

/// A body: `content` of a response, `postData` of a request.
struct HARContent {
    var size: Int?
    var mediaType: [UInt8] = []
    /// Where the text is in the file, as it is written.
    var text: Range<Int>?
    var isBase64 = false
    /// The name of the file that has the body instead.
    var file: [UInt8]?
    /// Where that name is.
    var fileOffset = 0
    var parameters: [HARParameter] = []
    var hasParameters = false

    /// Whether a text of some length or a file is there.
    var hasBytes: Bool { file != nil || !(text?.isEmpty ?? true) }
}

/// A part of a form.
struct HARParameter {
    var name: [UInt8] = []
    var value: [UInt8] = []
    var fileName: [UInt8]?
    var mediaType: [UInt8]?
}

/// The lines of a header section that are valid, and what is counted of them.
struct HARFields {
    /// Empty where only the index is read.
    var lines: [RecordedField] = []
    /// The bytes of the lines as HTTP/1 writes them.
    var bytes = 0
    var varies = false
    var hasLocation = false
    var contentRange: [UInt8]?
    /// How many lines aren't valid, and where the first of them is.
    var faults = 0
    var faultOffset = 0
}
