import Basics
import HTTPSemantics

/// The response of a resource in a webarchive: an NSURLResponse or NSHTTPURLResponse, as NSKeyedArchiver writes it.
///
/// CoreFoundation gives the archiver a list: URL, time, a flag, status, header dictionary, length, type. They have the
/// keys `$0`, `$1` and so on in this order, on newer systems `__nsurlrequest_proto_prop_obj_0` and so on beside a few
/// numbers that have the former; what stands before and behind them differs between systems, so that they are known by
/// their kind. Foundation on other systems than Apple's has keys with names (`NS.statusCode`).
struct ArchivedResponse: Equatable {
    /// Whether it is one of HTTP: others have neither status nor fields.
    var isHTTP = false
    var url: [UInt8]?
    var status: Int?
    var fields: [RecordedField] = []
    /// Unix milliseconds.
    var time: Int64?

    /// The most bytes of one.
    static let limit = 4 << 20
    /// The most references that are followed to reach a value.
    private static let depthLimit = 32

    /// - Returns: nil where it is none.
    /// - Throws: ``ArchiveProblem`` where it is damaged.
    static func read(_ bytes: [UInt8]) throws(ArchiveProblem) -> ArchivedResponse? {
        var archive = try KeyedArchive(ArchiveBytes(bytes))
        guard let root = try archive.root("WebResourceResponse"), let members = try archive.members(root) else {
            return nil
        }
        var response = ArchivedResponse()
        response.isHTTP = try archive.className(members)?.hasPrefix("NSHTTP") ?? (members["NS.statusCode"] != nil)
        var values = archive.numbered(members, "__nsurlrequest_proto_prop_obj_")
        if values.isEmpty { values = archive.numbered(members, "$") }
        if values.isEmpty {
            try response.readNamed(members, &archive)
        } else {
            try response.readNumbered(values, &archive)
        }
        return response.url == nil && response.status == nil && response.fields.isEmpty ? nil : response
    }

    private mutating func readNumbered(
        _ values: [PropertyList], _ archive: inout KeyedArchive
    ) throws(ArchiveProblem) {
        var urlIndex: Int?
        var statuses: [(index: Int, status: Int)] = []
        var headerIndex: Int?
        for (index, value) in values.enumerated() {
            switch value {
            case .dictionary:
                if urlIndex == nil, let url = try archive.url(value, ArchivedResponse.depthLimit) {
                    self.url = url
                    urlIndex = index
                } else if urlIndex != nil, headerIndex == nil, let headers = try archive.dictionary(value) {
                    headerIndex = index
                    try readFields(headers)
                }
            case .string(let text) where urlIndex == nil && RecordedURL.hasScheme(text):
                url = text
                urlIndex = index
            case .integer(let number) where urlIndex != nil && (100...999).contains(number):
                statuses.append((index, Int(number)))
            case .real(let seconds), .date(let seconds):
                if urlIndex != nil, time == nil, seconds > 0, seconds < 4e9 {
                    time = Int64((seconds + 978_307_200) * 1000)
                }
            default: continue
            }
        }
        // The status stands before the header dictionary, the length behind it.
        status =
            statuses.last { $0.index < headerIndex ?? .max && headerIndex != nil }?.status ?? statuses.first?.status
    }

    private mutating func readNamed(
        _ members: [String: PropertyList], _ archive: inout KeyedArchive
    ) throws(ArchiveProblem) {
        func value(_ name: String) throws(ArchiveProblem) -> PropertyList {
            try archive.followed(members[name] ?? members["NS.\(name)"] ?? .null)
        }
        let url = try value("url")
        if case .string(let text) = url { self.url = text } else { self.url = try archive.url(url, 32) }
        if case .integer(let number) = try value("statusCode") { status = Int(exactly: number) }
        if let headers = try archive.dictionary(try value("allHeaderFields")) { try readFields(headers) }
    }

    /// The fields of a header dictionary. Its member `__hhaa__` has the values of each that came more than once.
    private mutating func readFields(_ headers: [(key: [UInt8], value: PropertyList)]) throws(ArchiveProblem) {
        var repeated: [[UInt8]: [[UInt8]]] = [:]
        for header in headers where header.key == Array("__hhaa__".utf8) {
            repeated = (try? ArchivedResponse.repeatedFields(header.value)) ?? [:]
        }
        for header in headers where header.key != Array("__hhaa__".utf8) {
            let value: [UInt8]
            switch header.value {
            case .string(let text): value = text
            case .integer(let number): value = Array(String(number).utf8)
            default: continue
            }
            let values = repeated[header.key.map(\.asciiLowercased)] ?? [value]
            for value in values { fields.append(RecordedField(header.key, value)) }
        }
    }

    /// The values of each field by its name in lower case: a property list in base64, plain or a keyed archive.
    private static func repeatedFields(_ value: PropertyList) throws(ArchiveProblem) -> [[UInt8]: [[UInt8]]] {
        guard case .string(let text) = value, let bytes = Base64.decoded(text) else { return [:] }
        var archive = try KeyedArchive(ArchiveBytes(bytes))
        var fields: [[UInt8]: [[UInt8]]] = [:]
        let root = try archive.root(nil) ?? .null
        for header in try archive.dictionary(root) ?? [] {
            var values: [[UInt8]] = []
            for item in try archive.items(header.value) {
                if case .string(let value) = item { values.append(value) }
            }
            if !values.isEmpty { fields[header.key.map(\.asciiLowercased)] = values }
        }
        return fields
    }
}
