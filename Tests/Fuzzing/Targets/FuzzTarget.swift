// What is tested here is internal to its modules, which are built for that when they are built for debugging or
// fuzzing.
#if DEBUG || FUZZING
import HTTP1Invariants
import HTTPSemantics

/// What can be fuzzed. Each target reads any bytes as its kind of input, and throws where a property does not hold.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// Requests of HTTP/1, with their bodies.
    case request
    /// Responses of HTTP/1; the first byte chooses the request's method.
    case response
    /// The chunked coding.
    case chunked
    /// A request target, the authority of CONNECT, a Location.
    case target
    /// The values of fields: lists, parameters, directives, dates, entity tags.
    case fields
    /// A representation's size in eight bytes, and a Range.
    case range
    /// A request's fields and a response's: what is stored, and for how long it is used.
    case caching
    /// A substitution map.
    case map
    /// Compressed field blocks, as one HTTP/2 connection's.
    case blocks
    /// What a client sends on an HTTP/2 connection.
    case frames
    /// What a client sends on an HTTP/1 connection.
    case connection
    /// JSON, as bodies, filters and seeds bring it.
    case json
    /// A seed of a database in CSV.
    case csv
    /// A seed of a database in SQL.
    case script
    /// A Mustache template.
    case template
    /// A path and a query for rows of a database; the first byte chooses the schema.
    case query
    /// An archive in HAR.
    case har
    /// A saved page in MHTML.
    case mhtml
    /// A saved page as a webarchive, in either form of property list.
    case webarchive
    /// A saved session in YAML or JSON, or a file of Firefox's.
    case session
    /// The list of a recording.
    case recording
    /// An archive in WARC, plain or gzip.
    case warc
    /// A zip, with what archives are in it.
    case zip

    public func check(_ bytes: [UInt8]) throws {
        switch self {
        case .request: try MessageInvariants.checkRequest(bytes)
        case .response:
            let methods: [HTTPSemantics.Method] = [.get, .head, .connect, .post]
            let method = methods[Int(bytes.first ?? 0) % methods.count]
            try MessageInvariants.checkResponse(Array(bytes.dropFirst()), to: method)
        case .chunked: try MessageInvariants.checkChunked(bytes)
        case .target: try TargetInvariants.check(bytes)
        case .fields: try FieldInvariants.check(bytes)
        case .range: try RangeInvariants.check(bytes)
        case .caching: try CachingInvariants.check(bytes)
        case .map: try MapInvariants.check(bytes)
        case .blocks: try FieldBlockInvariants.check(bytes)
        case .frames: try FrameInvariants.check(bytes)
        case .connection: try ConnectionInvariants.check(bytes)
        case .json: try JSONInvariants.check(bytes)
        case .csv: try CSVInvariants.check(bytes)
        case .script: try ScriptInvariants.check(bytes)
        case .template: try TemplateInvariants.check(bytes)
        case .query: try QueryInvariants.check(bytes)
        case .recording: try RecordingInvariants.check(bytes)
        case .har: try HARInvariants.check(bytes)
        case .mhtml: try SavedPageInvariants.checkMHTML(bytes)
        case .webarchive: try SavedPageInvariants.checkWebarchive(bytes)
        case .session: try SessionInvariants.check(bytes)
        case .warc: try WARCInvariants.check(bytes)
        case .zip: try ZipInvariants.check(bytes)
        }
    }
}
#endif
