import HTTPSemantics
import NIOCore

/// The names of the fields that a response is stored without (RFC 9111 §3.1).
///
/// Those of one connection, and what else is not forwarded because Connection nominates it (``HopByHop``); those that
/// `no-cache` names, and `private` in a shared cache; and what is made anew for each use: Content-Length, Age, and a
/// part's Content-Range. Trailer goes too, because trailers are not kept.
struct UnstoredNames {
    private static let always = HopByHop.connectionFields.union(FieldNameSet(.trailer, .contentLength, .age))

    private(set) var recognised = UnstoredNames.always
    /// Names that are not recognised ones, in lower case.
    private var others: Set<[UInt8]> = []

    /// Those that are never stored.
    init() {}

    /// Those too that a response's directives name.
    init(_ directives: ResponseDirectives, policy: CachePolicy) {
        insertNames(of: directives, policy: policy)
    }

    mutating func insertNames(of directives: ResponseDirectives, policy: CachePolicy) {
        if case .fields(let names) = directives.noCache { insert(names) }
        if policy.isShared, case .fields(let names) = directives.isPrivate { insert(names) }
    }

    /// All names that the response with these fields is stored without.
    init(_ fields: FieldSection, _ directives: ResponseDirectives, policy: CachePolicy) {
        self.init(directives, policy: policy)
        guard HopByHop.nominatesFields(fields) else { return }
        let hopByHop = HopByHop(fields)
        for line in fields.lines where hopByHop.isConnectionLevel(line) {
            fields.withName(line) { insert($0) }
        }
    }

    private mutating func insert(_ names: [[UInt8]]) {
        for name in names { name.withUnsafeBytes { insert($0) } }
    }

    private mutating func insert(_ name: UnsafeRawBufferPointer) {
        let known = FieldName(name)
        if known != .other {
            recognised.insert(known)
        } else {
            others.insert(name.map(\.asciiLowercased))
        }
    }

    mutating func insert(_ name: FieldName) { recognised.insert(name) }

    /// Adds the digests of one message's content, which don't fit another range of the representation, nor a
    /// representation where they come from a response without content (RFC 9530 §2).
    mutating func insertContentDigests() {
        others.insert(Array("content-digest".utf8))
        others.insert(Array("content-md5".utf8))
    }

    func contains(_ line: FieldSection.Line, of fields: FieldSection) -> Bool {
        guard line.name == .other else { return recognised.contains(line.name) }
        return !others.isEmpty && others.contains(fields.lowercaseName(line))
    }
}

/// What is kept of a response's header section (RFC 9111 §3.1).
enum StoredFields {
    /// The fields in the order received, without the unstored ones. Where there is no Date, or it is malformed, one
    /// with the time of receipt stands at the end (RFC 9110 §6.6.1).
    static func kept(
        _ fields: FieldSection, without unstored: UnstoredNames, replacingDate date: Int64?
    ) -> FieldSection {
        var unstored = unstored
        if date != nil { unstored.insert(.date) }
        var writer = FieldSectionWriter(byteCount: fields.bytes.readableBytes &+ 40, lineCount: fields.count &+ 1)
        for line in fields.lines where !unstored.contains(line, of: fields) { writer.copy(line, of: fields) }
        if let date { writer.append(.date, spelling: "Date", value: HTTPDate.bytes(date)) }
        return writer.section
    }
}

extension FieldSection {
    /// A line's name in lower case.
    func lowercaseName(_ line: Line) -> [UInt8] { withName(line) { $0.map(\.asciiLowercased) } }
}
